import { ConnectivityState } from '../../grpc-js';
import type { PickArgs, PickResult, Picker } from '../../grpc-js';
import { callAttributes, type OverrideHost } from '../call-attributes';
import { queuePicker } from '../connectivity';
import type { SessionHosts } from './session-hosts';

/** Sends the calls of a session to its endpoint, and leaves all others to the child (gRFC A55). */
export class OverrideHostPicker implements Picker {
  /**
   * @param child What picks for calls without a session, or whose endpoint cannot be used.
   * @param hosts The same for all pickers of the policy.
   */
  constructor(
    private readonly child: Picker,
    private readonly hosts: SessionHosts,
  ) {}

  pick(args: PickArgs): PickResult {
    const wish = callAttributes(args)?.overrideHost;
    return wish === undefined ? this.child.pick(args) : this.pickForSession(args, wish);
  }

  private pickForSession(args: PickArgs, wish: OverrideHost): PickResult {
    const { child, hosts } = this;
    const found = chooseHost(wish.addresses, hosts.find);
    if (found !== undefined && found.state !== ConnectivityState.READY) {
      found.wait();
      return queuePicker.pick(args);
    }
    const result = found === undefined ? child.pick(args) : found.pickResult;
    if (result.subchannel === null) return result;
    const used = found ?? hosts.adopt(result.subchannel);
    used?.use();
    if (used !== undefined) wish.onPicked(used.addresses);
    return result;
  }
}

/**
 * The connection for a session: the first that is READY, or else the first that is IDLE and so must be made to
 * connect, or else the first that is CONNECTING (gRFC A55).
 *
 * @param addresses Those the session was on, the one in use last first.
 * @param find The connection to an address, if sessions may go there.
 * @returns `undefined` if there is nothing to use or to wait for.
 */
export function chooseHost<Host extends { readonly state: ConnectivityState }>(
  addresses: readonly string[],
  find: (address: string) => Host | undefined,
): Host | undefined {
  let idle: Host | undefined;
  let connecting: Host | undefined;
  for (const address of addresses) {
    const host = find(address);
    if (host === undefined) continue;
    const { state } = host;
    if (state === ConnectivityState.READY) return host;
    if (state === ConnectivityState.IDLE) idle ??= host;
    else if (state === ConnectivityState.CONNECTING) connecting ??= host;
  }
  return idle ?? connecting;
}
