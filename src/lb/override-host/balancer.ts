import {
  type ChannelOptions,
  type Picker,
  type Subchannel,
  type SubchannelAddress,
  ConnectivityState,
  type PickArgs,
  type PickResult,
} from '../../grpc-js';
import type { LocalityEndpoints } from '../../resources/endpoints/endpoints';
import type { EndpointSet, LbEndpoints } from '../endpoints/endpoint-set';
import { sumWeights } from '../endpoints/endpoint-weights';
import type { LbContext, LbHost, LbPolicyType } from '../lb-policy';
import { SwitchingChild } from '../tree/child';
import { SingleChildPolicy } from '../tree/single-child';
import type { OverrideHostConfig } from './config';
import { OVERRIDE_HOST } from './config';
import { SessionHosts } from './session-hosts';
import { callAttributes, type OverrideHost } from '../call-attributes';
import { createWait, describeWait, type DescribedPicker } from '../connectivity';

/** Keeps the calls of a session on its endpoint, which may be one that receives no other calls (gRFCs A55, A75). */
export const overrideHostPolicy: LbPolicyType = {
  name: OVERRIDE_HOST,
  create: (host) => new OverrideHostPolicy(host),
};

class OverrideHostPolicy extends SingleChildPolicy<OverrideHostConfig> {
  protected readonly child = new SwitchingChild(this);
  private readonly hosts: SessionHosts;
  private readonly draining = new DrainingFilter();
  private isConfigured = false;

  constructor(host: LbHost) {
    super(host);
    this.hosts = new SessionHosts(host, () => this.onStateChanged());
  }

  update(config: OverrideHostConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (!this.isConfigured) this.onStateChanged();
    this.isConfigured = true;
    const { statuses, idleTimeoutMs, childPolicy } = config.options;
    if (typeof endpoints === 'string') {
      this.child.update(childPolicy, endpoints, context);
      return;
    }
    const { options } = context;
    this.hosts.update({ endpoints, statuses, idleTimeoutMs, options });
    this.child.update(childPolicy, this.draining.filter(endpoints), context);
  }

  protected override createPicker(childPicker: Picker): Picker {
    return new OverrideHostPicker(childPicker, this.hosts);
  }

  createSubchannel(address: SubchannelAddress, options: ChannelOptions): Subchannel {
    const subchannel = this.host.createSubchannel(address, options);
    this.hosts.childSubchannels.add(subchannel, options);
    return subchannel;
  }

  override destroy(): void {
    this.hosts.destroy();
    super.destroy();
  }
}

/**
 * Removes the endpoints that are DRAINING from the endpoints of the child (gRFC A55). The result for the same objects is
 * the same object, so that the child can compare by identity.
 */
export class DrainingFilter {
  /** Only sets with endpoints that are DRAINING; created for the first, since few clusters ever have one. */
  private sets: WeakMap<EndpointSet, EndpointSet> | undefined;
  private localities: WeakMap<LocalityEndpoints, LocalityEndpoints> | undefined;

  /** Returns the set without endpoints that are DRAINING; the set itself if it has none. */
  filter(set: EndpointSet): EndpointSet {
    if (!mayDrain(set)) return set;
    const known = this.sets?.get(set);
    if (known !== undefined) return known;
    const filtered = this.filterSet(set);
    if (filtered !== set) (this.sets ??= new WeakMap()).set(set, filtered);
    return filtered;
  }

  private filterSet(set: EndpointSet): EndpointSet {
    const localities = set.localities.map((locality) => this.filterLocality(locality));
    let same = localities.every((locality, i) => locality === set.localities[i]);
    const whole = same ? set.whole : sumWeights(set);
    if (set.children === undefined) return same ? set : { localities, children: undefined, whole };
    const children = new Map<string, EndpointSet>();
    for (const [name, child] of set.children) {
      const filtered = this.filter(child);
      same &&= filtered === child;
      children.set(name, filtered);
    }
    return same ? set : { localities, children, whole };
  }

  private filterLocality(locality: LocalityEndpoints): LocalityEndpoints {
    if (locality.draining === 0) return locality;
    const known = this.localities?.get(locality);
    if (known !== undefined) return known;
    if (!locality.endpoints.some(({ health }) => health === 'DRAINING')) return locality;
    const endpoints = locality.endpoints.filter(({ health }) => health !== 'DRAINING');
    const filtered = { ...locality, endpoints, draining: 0 };
    (this.localities ??= new WeakMap()).set(locality, filtered);
    return filtered;
  }
}

/** Whether an endpoint of the set or of its children may be DRAINING. */
function mayDrain({ localities, children }: EndpointSet): boolean {
  for (const { draining } of localities) if (draining !== 0) return true;
  if (children === undefined) return false;
  for (const child of children.values()) if (mayDrain(child)) return true;
  return false;
}

/** Sends the calls of a session to its endpoint and forwards all others to the child (gRFC A55). */
class OverrideHostPicker implements DescribedPicker {
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
      return createWait(() => found.describeWait());
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
