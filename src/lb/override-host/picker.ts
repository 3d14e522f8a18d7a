import { ConnectivityState, type PickArgs, type PickResult, type Picker } from '../../grpc-js';
import { callAttributes, type OverrideHost } from '../call-attributes';
import { describeWait, queuePicker, type DescribedPicker } from '../connectivity';
import type { SessionHosts } from './session-hosts';

/** Sends the calls of a session to its endpoint and forwards all others to the child (gRFC A55). */
export class OverrideHostPicker implements DescribedPicker {
  /**
   * @param child Picks for calls without a session, or whose endpoint cannot be used.
   * @param hosts Shared by all pickers of the policy.
   */
  constructor(
    private readonly child: Picker,
    private readonly hosts: SessionHosts,
  ) {}

  describeWait(): string | undefined {
    return describeWait(this.child);
  }

  pick(args: PickArgs): PickResult {
    const requested = callAttributes(args)?.overrideHost;
    return requested === undefined ? this.child.pick(args) : this.pickForSession(args, requested);
  }

  private pickForSession(args: PickArgs, requested: OverrideHost): PickResult {
    const { child, hosts } = this;
    const chosen = chooseHost(requested.addresses, hosts.find);
    const found = chosen && hosts.connectionTo(chosen);
    if (found !== undefined && found.state !== ConnectivityState.READY) {
      found.wait();
      return queuePicker.pick(args);
    }
    const result = found === undefined ? child.pick(args) : found.pickResult;
    if (result.subchannel === null) return result;
    const used = found ?? hosts.adopt(result.subchannel);
    used?.use();
    if (used !== undefined) requested.onPicked(used.addresses);
    return result;
  }
}

/**
 * Chooses the address of a session to use: the first with a READY connection, else the first that is IDLE, which then has
 * to connect, else the first that is CONNECTING. Only if there is none, the first one without a subchannel, which then
 * gets one (gRFC A75).
 *
 * @param addresses The addresses of the session, the one used last first.
 * @param find Finds an address, if sessions may use it, with the state of its subchannel, or `undefined` without one.
 * @returns `undefined` if no address can be used or waited for.
 */
export function chooseHost<Host extends { readonly state: ConnectivityState | undefined }>(
  addresses: readonly string[],
  find: (address: string) => Host | undefined,
): Host | undefined {
  let idle: Host | undefined;
  let connecting: Host | undefined;
  let unconnected: Host | undefined;
  for (const address of addresses) {
    const host = find(address);
    if (host === undefined) continue;
    const { state } = host;
    if (state === ConnectivityState.READY) return host;
    if (state === ConnectivityState.IDLE) idle ??= host;
    else if (state === ConnectivityState.CONNECTING) connecting ??= host;
    else if (state === undefined) unconnected ??= host;
  }
  return idle ?? connecting ?? unconnected;
}
