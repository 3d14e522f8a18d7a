import {
  ConnectivityState,
  type ChannelOptions,
  type Picker,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import type { Logger } from '../../util/logger';
import { AddressIndex } from '../endpoints/endpoint-index';
import type { EndpointSet, LbEndpoints } from '../endpoints/endpoint-set';
import { LabelledContext, type LbContext, type LbHost, type LbPolicyType } from '../lb-policy';
import { SwitchingChild } from '../tree/child';
import { SingleChildPolicy } from '../tree/single-child';
import type { ChildState, StateDetails } from '../tree/policy-state';
import { CallLimits, ClusterImplPicker } from './picker';
import { BrokenCalls } from './broken-calls';
import type { CallCounterMap, CallCounterRef } from './circuit-breaker';
import type * as LoadsModule from './cluster-loads';
import type { ClusterLoads } from './cluster-loads';
import { CLUSTER_IMPL, type ClusterImplConfig, type ClusterImplOptions } from './config';
import { AuthorityRewriter, ClusterSubchannels } from './cluster-calls';
import { ClusterCalls } from './endpoint-calls';
import type * as Observation from './observed-cluster';
import type { ObservedCluster } from './observed-cluster';
import { lazy } from '../../util/lazy';
import { quoteName } from '../../util/text';

/** Loaded for the first cluster whose load is reported. */
const loadClusterLoads = lazy<typeof LoadsModule>(() => require('./cluster-loads'));
/** Loaded for the first cluster of an observed channel. */
const loadObservation = lazy<typeof Observation>(() => require('./observed-cluster'));

/** The dependencies that all cluster_impl policies of the process share. */
export interface ClusterImplDependencies {
  readonly counters: CallCounterMap;
}

/** Creates the policy that drops calls and limits concurrent requests of a cluster (gRFC A32). */
export function createClusterImplPolicyType(dependencies: ClusterImplDependencies): LbPolicyType {
  return {
    name: CLUSTER_IMPL,
    create: (host) => new ClusterImpl(host, dependencies),
  };
}

const TRACER = 'xds_cluster_impl';

/** The state that pickers are created from, besides the child. */
interface Applied {
  readonly config: ClusterImplConfig;
  readonly limits: CallLimits;
  readonly counterRef: CallCounterRef;
  readonly subchannels: ClusterSubchannels;
  /** Known only if loads or plugins need the localities. */
  readonly addresses: AddressIndex;
  readonly loads: ClusterLoads | undefined;
  /** `undefined` if no plugin observes the channel. */
  readonly observed: ObservedCluster | undefined;
  readonly calls: ClusterCalls;
}

class ClusterImpl extends SingleChildPolicy<ClusterImplConfig> {
  protected readonly child = new SwitchingChild(this);
  private applied: Applied | undefined;
  private readonly rewriter = new AuthorityRewriter();
  private readonly labelled = new LabelledContext();

  constructor(
    host: LbHost,
    private readonly dependencies: ClusterImplDependencies,
  ) {
    super(host);
  }

  /** Calls on new connections find their localities: the child is updated when all of them are known. */
  update(config: ClusterImplConfig, endpoints: LbEndpoints, context: LbContext): void {
    const listed = typeof endpoints === 'string' ? undefined : endpoints;
    const { applied } = this;
    const next = applied?.config === config ? applied : this.prepare(config);
    const hasMoved = listed !== undefined && updateLocalities(next, listed);
    if (hasMoved || next !== applied) {
      if (applied !== undefined) releaseUnused(applied, next);
      // A connection may be kept when its endpoint changes locality; later calls on it count for the new one.
      this.applied = hasMoved ? { ...next, subchannels: this.createSubchannels(next) } : next;
      this.onStateChanged();
    }
    if (listed !== undefined) {
      this.rewriter.update(listed);
      next.calls.update(listed);
    }
    const labelled = this.labelled.of(context, next.observed?.labels);
    this.child.update(config.options.childPolicy, endpoints, labelled);
  }

  protected override createPicker(childPicker: Picker): Picker {
    if (this.applied === undefined) return childPicker;
    const { limits, subchannels, loads, observed } = this.applied;
    const { child, host } = this;
    return new ClusterImplPicker({
      child: childPicker,
      limits,
      subchannels,
      loads: observed?.countDrops(loads) ?? loads,
      isReady: child.state === ConnectivityState.READY,
      random: host.environment.random,
      clock: host.environment.clock,
    });
  }

  createSubchannel(address: SubchannelAddress, options: ChannelOptions): Subchannel {
    const subchannel = this.host.createSubchannel(address, options);
    return this.applied?.observed?.measure(subchannel) ?? subchannel;
  }

  protected override describeDetails(): StateDetails {
    const { applied } = this;
    if (applied === undefined) return {};
    const { cluster, maxRequests, drops } = applied.config.options;
    const dropped = drops.map(({ category, perMillion }) => `${category} ${perMillion / 10_000} %`);
    return {
      cluster,
      callsInFlight: applied.counterRef.counter.count,
      maxRequests,
      ...(dropped.length > 0 && { drops: dropped.join(', ') }),
    };
  }

  protected override describeChild(child: ChildState): ChildState {
    return this.applied?.calls.describe(child) ?? child;
  }

  override destroy(): void {
    this.applied?.counterRef.release();
    this.applied?.loads?.release();
    this.applied?.calls.release();
    super.destroy();
  }

  /** Returns what follows from a config. What it has in common with the one before is shared. */
  private prepare(config: ClusterImplConfig): Applied {
    const { options } = config;
    const limits = new CallLimits(options);
    const { applied } = this;
    this.host.environment.logger.trace(
      TRACER,
      () =>
        `cluster ${quoteName(options.cluster)} allows ${options.maxRequests} concurrent requests, drops ${JSON.stringify(options.drops)}`,
    );
    if (applied !== undefined && isCountedAlike(applied.config.options, options)) {
      return { ...applied, config, limits };
    }
    const counterRef = this.dependencies.counters.acquire(options.cluster, options.edsServiceName);
    const { environment } = this.host;
    const { stats, clock, logger } = environment;
    const addresses = new AddressIndex();
    const loads = createLoads(options, addresses, logger);
    const observed =
      stats && new (loadObservation().ObservedCluster)(stats, options.cluster, addresses, clock);
    const calls = new ClusterCalls(options.cluster, environment);
    const counted = { config, limits, counterRef, addresses, loads, observed, calls };
    return { ...counted, subchannels: this.createSubchannels(counted) };
  }

  private createSubchannels({
    limits: { cluster },
    counterRef: { counter },
    loads,
    observed,
    calls,
  }: Omit<Applied, 'subchannels'>): ClusterSubchannels {
    const broken = new BrokenCalls(cluster, this.host.environment.clock);
    const { rewriter } = this;
    return new ClusterSubchannels({ cluster, counter, calls, broken, rewriter, loads, observed });
  }
}

/** @returns Whether an endpoint has moved to another locality. */
function updateLocalities(
  { addresses, loads, observed }: Applied,
  endpoints: EndpointSet,
): boolean {
  const areNeeded = loads !== undefined || observed?.usesLocality === true;
  return areNeeded && addresses.update(endpoints);
}

/** Releases what the next state does not share. */
function releaseUnused(applied: Applied, next: Applied): void {
  if (applied.counterRef !== next.counterRef) applied.counterRef.release();
  if (applied.loads !== next.loads) applied.loads?.release();
  if (applied.calls !== next.calls) applied.calls.release();
}

/** Whether calls with either options are counted by one counter (gRFC A32) and reported to the same server. */
function isCountedAlike(a: ClusterImplOptions, b: ClusterImplOptions): boolean {
  return (
    a.cluster === b.cluster &&
    a.edsServiceName === b.edsServiceName &&
    a.loadReporting === b.loadReporting
  );
}

function createLoads(
  options: ClusterImplOptions,
  addresses: AddressIndex,
  logger: Logger,
): ClusterLoads | undefined {
  const { cluster, edsServiceName, loadReporting } = options;
  if (loadReporting === undefined) return undefined;
  const { reporter, server, metrics } = loadReporting;
  return new (loadClusterLoads().ClusterLoads)(
    reporter.acquire({ server, cluster, edsServiceName, metrics }),
    addresses,
    logger,
  );
}
