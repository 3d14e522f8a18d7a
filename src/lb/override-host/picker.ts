import { ConnectivityState } from '../../grpc-js';
import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import { callAttributes, type OverrideHost } from '../call-attributes';
import { queuePicker } from '../connectivity';
import { chooseHost } from './choose-host';
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
