import {
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  ConnectivityState,
  SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX,
  type ChannelOptions,
  type GrpcEndpoint,
  type LbHelper,
  type LoadBalancer,
  type Picker,
  type StatusOr,
  type TypedLoadBalancingConfig,
  type SubchannelAddress,
} from '../../grpc-js';
import { limitConnectTime } from '../../grpc-js/connect-time';
import { BOOTSTRAP_OPTION, CHILD_CHANNEL_OPTION } from '../../util/channel-options';
import { ContainedPicker } from '../../grpc-js/host-call';
import type { ClusterStore } from '../../dependency-manager/xds-config';
import type { LbConfig } from '../../resources/extension-points';
import type { ChannelStats, ReportGauge } from '../../observe/stats/stats-plugin';
import { errorStack, errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';
import { shareFields, shareList } from '../../util/share';
import { Violations } from '../../util/violations';
import { ClusterUpdates } from '../cds/cluster-updates';
import { CallTiming } from '../cluster-impl/endpoint-calls';
import {
  getXdsLbContext,
  type LbContext,
  type LbEnvironment,
  type LbPolicy,
  type LbPolicyType,
} from '../lb-policy';
import type { LbPolicyRegistry } from '../registry/lb-policy-registry';
import type { LbPolicyRoots } from '../registry/register-lb-policies';
import { LbBatch } from './lb-batch';
import { ObservedPicker } from './observed-picker';
import { stateName, type PolicyState, type StateName } from './policy-state';
import {
  createFailurePicker,
  failureText,
  explainFailure,
  type PublishedPicker,
} from '../connectivity';
import { Label, OwnInstruments, OwnLabel } from '../../observe/stats/instruments';
import {
  noMetadata,
  type LocalityEndpoints,
  type SocketAddress,
  type XdsEndpoint,
} from '../../resources/endpoints/endpoints';
import { endpointKey, shareAddresses } from '../endpoints/endpoint-key';
import { emptyEndpointSet, type EndpointSet } from '../endpoints/endpoint-set';

/** The environment that all trees share; each has a batch of its own. */
export type SharedLbEnvironment = Omit<LbEnvironment, 'batch' | 'clusterUpdates'>;

/** That of one tree. */
interface RootEnvironment extends LbEnvironment {
  stats?: LbEnvironment['stats'];
  channel?: LbEnvironment['channel'];
}

/** A config of a policy of this package, in the form that grpc-js expects. */
export class RootConfig implements TypedLoadBalancingConfig {
  /** @param json What the config was parsed from. Default: it is not from JSON. */
  constructor(
    readonly config: LbConfig,
    private readonly json: unknown = {},
  ) {}

  getLoadBalancerName(): string {
    return this.config.policyName;
  }

  toJsonObject(): object {
    return { [this.config.policyName]: this.json };
  }
}

/** The root of a tree of policies of this package, as a policy of grpc-js. */
export class GrpcJsRoot implements LoadBalancer {
  private readonly policy: LbPolicy;
  private readonly environment: RootEnvironment;
  private readonly options = new ChannelOptionsCache();
  private readonly endpoints = new FlatEndpoints();
  /** Whether the application may wait for the channel although no call has picked: see `exitIdle`. */
  private isWakeUpDue = true;
  private destroyed = false;
  /** That of the last update. */
  private context: LbContext | undefined;
  /** The timer of `exitIdle`. */
  private wakeUp: Handle | undefined;
  private state = ConnectivityState.IDLE;
  /** What the policy reported last, without the resolution note. */
  private reported: PublishedPicker | undefined;
  private note = '';
  private gauges: Handle | undefined;
  private readonly timing: CallTiming;

  constructor(
    private readonly type: LbPolicyType,
    private readonly helper: LbHelper,
    shared: SharedLbEnvironment,
    private readonly onDestroyed?: (root: GrpcJsRoot) => void,
  ) {
    this.timing = new CallTiming(shared.clock);
    const batch = new LbBatch((error) => this.onError(error));
    const clusterUpdates = new ClusterUpdates(batch, shared.timeSlices);
    const environment = { ...shared, batch, clusterUpdates, callTiming: this.timing };
    this.environment = environment;
    this.policy = type.create({
      environment,
      depth: 0,
      createSubchannel: (address, args) => {
        const subchannel = helper.createSubchannel(address, args);
        limitConnectTime(subchannel.getRealSubchannel(), shared.clock);
        return subchannel;
      },
      addChannelzChild: helper.addChannelzChild.bind(helper),
      removeChannelzChild: helper.removeChannelzChild.bind(helper),
      updateState: (state, picker, errorMessage) => {
        this.state = state;
        this.reported = { picker, errorMessage };
        if (state === ConnectivityState.READY) this.isWakeUpDue = false;
        if (!this.destroyed) this.report(this.reported);
      },
      requestReresolution: () => {
        if (!this.destroyed) helper.requestReresolution();
      },
    });
  }

  private report(reported: PublishedPicker): void {
    const { picker, errorMessage } = explainFailure(reported, this.note);
    const observed = this.environment.stats === undefined ? picker : new ObservedPicker(picker);
    const contained = new ContainedPicker(observed, (error) => this.failingPicker(error));
    this.helper.updateState(this.state, contained, errorMessage);
  }

  private failingPicker(error: unknown): Picker {
    this.onError(error);
    const reason = `unexpected error in a load-balancing policy: ${errorMessage(error)}`;
    return createFailurePicker(reason);
  }

  private onError(error: unknown): void {
    const { environment, type } = this;
    environment.logger.error(
      () => `Bug in load-balancing policy ${type.name}: ${errorStack(error)}`,
    );
  }

  /** @returns `true`, since the policy reports errors to calls and the resolver must not retry. */
  updateAddressList(
    list: StatusOr<GrpcEndpoint[]>,
    config: TypedLoadBalancingConfig,
    channelOptions: ChannelOptions,
    resolutionNote: string,
  ): boolean {
    if (!(config instanceof RootConfig)) return false;
    const xds = getXdsLbContext(channelOptions);
    // Between two resolutions of a channel there is no context.
    const { batch, channel, stats } = this.environment;
    this.environment.channel =
      channel ?? (xds && { nodeId: xds.nodeId, target: xds.target, authority: xds.authority });
    if (stats === undefined && xds?.stats !== undefined) this.observeBy(xds.stats);
    this.timing.rates ??= xds?.rates;
    const endpoints = list.ok ? this.endpoints.update(list.value) : list.error.details;
    const options = this.options.strip(channelOptions);
    const context = shareFields(this.context, { options, xds });
    this.context = context;
    const isNoteNew = resolutionNote !== this.note;
    this.note = resolutionNote;
    batch.run(() => this.policy.update(config.config, endpoints, context));
    if (isNoteNew && this.reported !== undefined) this.report(this.reported);
    // The channel may have been requested to connect before the policy had anything to connect to, and does not repeat it.
    if (this.isWakeUpDue && this.state === ConnectivityState.IDLE) {
      this.isWakeUpDue = false;
      this.exitIdle();
    }
    return true;
  }

  /**
   * Called by the channel for every call, so it must cost little unless the policy is IDLE. A call's own pick decides
   * where to connect. If there was none until the next turn of the event loop, the application waits for the channel
   * itself, and the policy connects.
   */
  exitIdle(): void {
    if (this.state !== ConnectivityState.IDLE) return;
    this.wakeUp ??= this.environment.clock.setTimer(() => {
      this.wakeUp = undefined;
      if (this.state !== ConnectivityState.IDLE) return;
      this.environment.batch.run(() => this.policy.exitIdle());
    }, 0);
  }

  resetBackoff(): void {
    this.environment.batch.run(() => this.policy.resetBackoff());
  }

  destroy(): void {
    this.destroyed = true;
    this.wakeUp?.release();
    this.gauges?.release();
    this.timing.release();
    this.onDestroyed?.(this);
    this.environment.batch.run(() => this.policy.destroy());
  }

  /** The clusters that the policies use; `undefined` before the first update, and under other resolvers than xds. */
  get clusters(): ClusterStore | undefined {
    return this.context?.xds?.clusters;
  }

  getTypeName(): string {
    return this.type.name;
  }

  /** Describes the policies of the channel. The latency of calls is measured for the next minute. */
  describe(): PolicyState {
    if (!this.destroyed) this.timing.request();
    const own = { policy: this.type.name, state: stateName(this.state) };
    return { ...own, ...this.policy.describe?.() };
  }

  /** Why each call fails that does not wait; `undefined` if not all do. */
  get failure(): string | undefined {
    return this.state === ConnectivityState.TRANSIENT_FAILURE
      ? failureText(this.reported?.errorMessage ?? '', this.note)
      : undefined;
  }

  private observeBy(stats: ChannelStats): void {
    this.environment.stats = stats;
    this.gauges = observeTree(stats, () => this.describe());
  }
}

/**
 * Creates roots of the policies that are in a registry now. Those registered later are only children of other policies.
 */
export class RegistryRoots implements LbPolicyRoots {
  private readonly types: ReadonlyMap<string, LbPolicyType>;
  private readonly roots = new Set<GrpcJsRoot>();

  constructor(
    private readonly registry: LbPolicyRegistry,
    private readonly shared: SharedLbEnvironment,
  ) {
    this.types = new Map(Array.from(registry.registered(), (type) => [type.name, type]));
  }

  create(policyName: string, helper: LbHelper): LoadBalancer {
    const root = new GrpcJsRoot(this.typeOf(policyName), helper, this.shared, (destroyed) =>
      this.roots.delete(destroyed),
    );
    this.roots.add(root);
    return root;
  }

  /** Describes the policies that use the clusters of a target; `undefined` if there are none yet. */
  describe(clusters: ClusterStore): PolicyState | undefined {
    return [...this.roots].findLast((root) => root.clusters === clusters)?.describe();
  }

  /** Returns why the calls of channels fail, by the clusters of their targets; those of the others do not all fail. */
  failures(): ReadonlyMap<ClusterStore, string> {
    const failures = new Map<ClusterStore, string>();
    for (const { clusters, failure } of this.roots) {
      if (clusters === undefined) continue;
      // Of several channels of a target, the last one is described.
      if (failure === undefined) failures.delete(clusters);
      else failures.set(clusters, failure);
    }
    return failures;
  }

  parseConfig(policyName: string, json: unknown): TypedLoadBalancingConfig {
    if (isParsed(json, policyName)) return new RootConfig(json);
    const violations = Violations.root();
    const { parseConfig } = this.typeOf(policyName);
    if (parseConfig === undefined)
      violations.add('only the client creates the configs of this policy');
    const config = parseConfig?.(json, violations, this.registry);
    if (config === undefined) throw new Error(violations.all.join('; '));
    return new RootConfig(config, json);
  }

  private typeOf(policyName: string): LbPolicyType {
    const type = this.types.get(policyName);
    if (type === undefined) throw new Error(`Bug: there is no policy ${policyName}`);
    return type;
  }
}

/**
 * Whether a config is parsed already: the xds resolver puts it where grpc-js expects JSON, which saves writing and
 * parsing. Configs are instances of classes, which JSON never is.
 */
function isParsed(json: unknown, policyName: string): json is LbConfig {
  return (
    typeof json === 'object' &&
    json !== null &&
    Object.getPrototypeOf(json) !== Object.prototype &&
    'policyName' in json &&
    json.policyName === policyName
  );
}

/**
 * The options of a channel for its subchannels. grpc-js adds what the resolver passes to the load balancer to the
 * options of the channel, in a new object each time. Subchannels are pooled by the values of their options, so a new
 * config selector in them would open new connections with every update.
 */
class ChannelOptionsCache {
  private current: ChannelOptions = {};

  /** Returns the options without those for the channel only. The same object while nothing in it changes. */
  strip(options: ChannelOptions): ChannelOptions {
    const entries = Object.entries(options).filter(([key]) => isForSubchannels(key));
    this.current = shareFields(this.current, Object.fromEntries(entries));
    return this.current;
  }
}

function isForSubchannels(key: string): boolean {
  return (
    key !== CHANNEL_ARGS_CONFIG_SELECTOR_KEY &&
    key !== BOOTSTRAP_OPTION &&
    key !== CHILD_CHANNEL_OPTION &&
    !key.startsWith(SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX)
  );
}

/** Reports the priorities and endpoints of a channel whenever metrics are collected; `undefined` if no plugin does. */
function observeTree(stats: ChannelStats, describe: () => PolicyState): Handle | undefined {
  const { PRIORITY_IN_USE, ENDPOINTS } = OwnInstruments;
  return stats.observeGauges([PRIORITY_IN_USE, ENDPOINTS], (report) => {
    const counts: EndpointCounts = new Map();
    visit(describe(), undefined, { counts, report });
    for (const [cluster, states] of counts) {
      for (const [state, count] of states) {
        const labels = { [Label.BACKEND_SERVICE]: cluster, [OwnLabel.ENDPOINT_STATE]: state };
        report(ENDPOINTS, count, labels);
      }
    }
  });
}

/** The numbers of endpoints by cluster and state. */
type EndpointCounts = Map<string, Map<StateName, number>>;

interface Visit {
  readonly counts: EndpointCounts;
  readonly report: ReportGauge;
}

/** @param cluster That of the policies above; `undefined` above those of a cluster, where there are no endpoints. */
function visit(policy: PolicyState, cluster: string | undefined, into: Visit): void {
  const { details, children = [], endpoints = [] } = policy;
  const own = typeof details?.cluster === 'string' ? details.cluster : cluster;
  if (own !== undefined) {
    reportPriority(policy, own, into.report);
    const states = into.counts.get(own) ?? new Map<StateName, number>();
    for (const { state } of endpoints) states.set(state, (states.get(state) ?? 0) + 1);
    if (states.size > 0) into.counts.set(own, states);
  }
  for (const child of children) visit(child, own, into);
}

/** Only children of priority are in use or not. They are created in order: the index among them is the priority. */
function reportPriority(
  { children = [] }: PolicyState,
  cluster: string,
  report: ReportGauge,
): void {
  const index = children.findIndex(({ role }) => role?.inUse === true);
  if (index < 0) return;
  report(OwnInstruments.PRIORITY_IN_USE, index, { [Label.BACKEND_SERVICE]: cluster });
}

const NOWHERE = { region: '', zone: '', subZone: '' } as const;

/**
 * Converts the endpoint lists of grpc-js, which are new objects with every resolution, to sets that share unchanged
 * objects. A set has one locality, without a name.
 */
class FlatEndpoints {
  private byKey: ReadonlyMap<string, XdsEndpoint> = new Map();
  private current: EndpointSet = emptyEndpointSet;

  /** Returns the set of a list; the previous one if nothing changed. Unix sockets are left out. */
  update(list: readonly GrpcEndpoint[]): EndpointSet {
    const byKey = new Map<string, XdsEndpoint>();
    for (const { addresses } of list) {
      const endpoint = toXdsEndpoint(addresses.filter(isSocketAddress));
      if (endpoint.addresses.length === 0) continue;
      const key = endpointKey(endpoint);
      const known = this.byKey.get(key);
      const isSame =
        known !== undefined &&
        shareAddresses(known.addresses, endpoint.addresses) === known.addresses;
      byKey.set(key, isSame ? known : endpoint);
    }
    this.byKey = byKey;
    const before = this.current.localities[0]?.endpoints ?? [];
    const endpoints = shareList(before, [...byKey.values()]);
    if (endpoints !== before) this.current = createSet(endpoints);
    return this.current;
  }
}

function createSet(endpoints: readonly XdsEndpoint[]): EndpointSet {
  if (endpoints.length === 0) return emptyEndpointSet;
  const locality: LocalityEndpoints = { locality: NOWHERE, weight: 1, endpoints };
  return { localities: [locality], children: undefined };
}

function toXdsEndpoint(addresses: readonly SocketAddress[]): XdsEndpoint {
  return {
    addresses,
    weight: 1,
    health: 'UNKNOWN',
    hostname: '',
    hashKey: undefined,
    metadata: noMetadata,
  };
}

function isSocketAddress(address: SubchannelAddress): address is SocketAddress {
  return 'host' in address;
}
