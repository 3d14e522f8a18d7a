import type {
  ClusterConfig,
  ClusterWatcher,
  ClusterStore,
} from '../../dependency-manager/xds-config';
import {
  ConnectivityState,
  type ChannelOptions,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import type { Handle } from '../../util/handle';
import { shareFields } from '../../util/share';
import { datedMessage } from '../../util/since';
import { quoteName } from '../../util/text';
import { explainFailure, failureText, WaitPicker, type PublishedPicker } from '../connectivity';
import { emptyEndpointSet, type LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbHost, LbPolicyType, XdsLbContext } from '../lb-policy';
import { OUTLIER_DETECTION } from '../outlier-detection/config';
import { OVERRIDE_HOST } from '../override-host/config';
import { PriorityConfig } from '../priority/config';
import { countEndpoints } from '../../util/endpoint-counts';
import type { AnyChild } from '../tree/child';
import type { StateDetails } from '../tree/policy-state';
import { SingleChildPolicy } from '../tree/single-child';
import { ClusterLog, FailingEndpoints, type ReportedCluster } from './cluster-log';
import type { ClusterUser } from './cluster-updates';
import { CDS, parseCdsConfig, type CdsConfig } from './config';
import { EndpointProxies } from './endpoint-proxies';
import { canWaitForCall, LazyChild } from './lazy-child';
import {
  planAggregate,
  planCluster,
  planLeaf,
  type AggregatePlan,
  type ClusterFailure,
  type LeafPlan,
  type PlanOptions,
  type UsableLeaf,
} from './plan';
import { TransportSecurity, UnusedTlsReports } from './transport-security';

/**
 * Makes the policy for one cluster of the `XdsConfig` usable (gRFCs A27, A74, A75): at once, or, if its policy connects
 * on demand, when the first call needs it.
 */
export function createCdsPolicyType(): LbPolicyType {
  const tlsReports = new UnusedTlsReports();
  return {
    name: CDS,
    parsePluginConfig: parseCdsConfig,
    create: (host) => new Cds(host, tlsReports),
  };
}

const TRACER = 'cds_balancer';

/** The last update under the xds resolver. */
interface Latest {
  readonly config: CdsConfig;
  readonly context: LbContext;
  readonly xds: XdsLbContext;
}

/** The input that the child was updated from. */
interface Applied {
  /** The name in the config of the policy. The resource may spell it differently. */
  readonly name: string;
  readonly cluster: ClusterConfig;
  readonly context: LbContext;
}

/** The cds policy: creates and updates the policies of one cluster. */
class Cds extends SingleChildPolicy<CdsConfig> implements ClusterWatcher, ClusterUser {
  readonly batch: ClusterWatcher['batch'];
  protected readonly child = new LazyChild(this);
  private readonly security: TransportSecurity;
  /** Created when the cluster first uses proxies. */
  private proxies: EndpointProxies | undefined;
  private readonly log: ClusterLog;
  /** Created when an endpoint fails. */
  private failing: FailingEndpoints | undefined;
  private readonly subscription = new ClusterSubscription(this);
  /** Which policies there are. One that a feature flag disables is not. */
  private readonly supported: PlanOptions;
  private latest: Latest | undefined;
  /** `undefined` while the cluster cannot be used. */
  private applied: Applied | undefined;
  /** The plan of the child, reused by the next one. */
  private plan: LeafPlan | PriorityConfig | undefined;
  /** The context of the child of a leaf. */
  private leafContext: LbContext | undefined;
  /** The resolution note of the cluster; empty if none. */
  private note = '';
  /** When the cluster began to fail, in milliseconds since the epoch; `undefined` if it does not. */
  private failingSinceMs: number | undefined;

  constructor(host: LbHost, tlsReports: UnusedTlsReports) {
    super(host);
    const { environment } = host;
    const { batch, logger, policies } = environment;
    this.batch = batch;
    this.security = new TransportSecurity(tlsReports, logger);
    this.log = new ClusterLog(environment, () => this.child);
    this.supported = {
      hasSessions: policies.get(OVERRIDE_HOST) !== undefined,
      hasOutlierDetection: policies.get(OUTLIER_DETECTION) !== undefined,
    };
  }

  update(config: CdsConfig, endpoints: LbEndpoints, context: LbContext): void {
    const { xds } = context;
    if (xds !== undefined) {
      this.latest = { config, context, xds };
      this.subscription.update(config, xds.clusters);
      this.onClusterChanged();
    } else if (this.applied?.name !== config.cluster) {
      const message =
        typeof endpoints === 'string' ? endpoints : `${CDS} works only under the xds resolver`;
      this.fail(config.cluster, { reason: { message } });
    }
  }

  onClusterChanged(): void {
    if (this.latest !== undefined) this.host.environment.clusterUpdates.add(this);
  }

  override destroy(): void {
    this.log.release();
    this.failing?.release();
    this.subscription.release();
    this.host.environment.clusterUpdates.delete(this);
    this.latest = undefined;
    this.applied = undefined;
    super.destroy();
  }

  /** Notes which endpoints fail, from the first failure on. */
  get endpointWatcher(): FailingEndpoints {
    return (this.failing ??= new FailingEndpoints(this.host.environment, () => this.reported()));
  }

  createSubchannel(address: SubchannelAddress, args: ChannelOptions): Subchannel {
    const secured = this.security.argsOf(address, args);
    return this.proxies === undefined
      ? this.createObserved(address, secured)
      : this.proxies.createSubchannel(address, secured, this.createObserved.bind(this));
  }

  private createObserved(address: SubchannelAddress, args: ChannelOptions): Subchannel {
    const subchannel = this.host.createSubchannel(address, args);
    if (this.security.observe(subchannel) && this.security.isUnused) {
      const { batch, clock } = this.host.environment;
      // Afterwards: the child is in the middle of an update, or of a connection attempt.
      clock.soon(() => batch.run(() => this.updateNote()));
    }
    return subchannel;
  }

  protected override describeDetails(): StateDetails {
    const cluster = this.latest?.config.cluster;
    const unusedTls = this.security.describe();
    return {
      ...(cluster !== undefined && { cluster }),
      ...(unusedTls !== undefined && { unusedTls }),
    };
  }

  /** Adds since when the cluster fails, and the resolution note. An aggregate leaves that, and the log, to its clusters. */
  protected override adapt(child: AnyChild): PublishedPicker {
    if (this.applied === undefined)
      return { picker: new WaitPicker(() => this.describeWait()), errorMessage: null };
    const { cluster, name } = this.applied;
    const { state } = child;
    const isFailing = state === ConnectivityState.TRANSIENT_FAILURE;
    // A failing cluster that connects again still fails.
    if (!isFailing && state !== ConnectivityState.CONNECTING) this.failingSinceMs = undefined;
    if (cluster.children.kind === 'aggregate') return child;
    const published = explainFailure(child, this.note, isFailing ? this.beginFailing() : undefined);
    this.log.onState(name, { state, errorMessage: published.errorMessage });
    if (state === ConnectivityState.READY) this.failing?.onReady();
    return published;
  }

  private beginFailing(): number {
    return (this.failingSinceMs ??= this.host.environment.clock.now());
  }

  /** The cluster for a report of its endpoints. Those of aggregate clusters are reported by their clusters. */
  private reported(): ReportedCluster | undefined {
    const { name = '', cluster } = this.applied ?? {};
    if (cluster?.children.kind !== 'endpoints') return undefined;
    const { priorities = [] } = cluster.children.endpoints ?? {};
    const localities = priorities.flatMap((priority) => priority.localities);
    const count = () => countEndpoints(this.describe());
    return { name, state: this.child.state, localities, count };
  }

  private describeWait(): string {
    const { config, xds } = this.latest ?? {};
    const name = config?.cluster ?? '';
    return (
      xds?.clusters.describeWait(name) ??
      `Cluster ${quoteName(name)}: waiting for its configuration`
    );
  }

  /** Applies the cluster as it is in the config in use now. */
  applyCluster(): void {
    if (this.latest === undefined) return;
    const { config, context, xds } = this.latest;
    const { cluster: name } = config;
    const plan = planCluster(config, xds.clusters, this.applied?.name);
    switch (plan.kind) {
      case 'keep':
        break;
      case 'wait':
        this.setFailure(undefined);
        this.onStateChanged();
        break;
      case 'fail':
        this.fail(name, plan);
        break;
      case 'aggregate':
        this.applyAggregate({ name, cluster: plan.cluster, context }, plan);
        break;
      case 'leaf':
        this.applyLeaf({ name, cluster: plan.cluster, context }, plan, xds);
    }
  }

  private applyLeaf(applied: Applied, leaf: UsableLeaf, xds: XdsLbContext): void {
    const { name, cluster, context } = applied;
    if (this.applied?.cluster === cluster && this.applied.context === context) return;
    const { endpoints } = leaf;
    const { resource } = cluster;
    const isNewPolicy = this.security.update(name, resource, xds.certificates, endpoints);
    const usesProxies = resource.httpConnect === true || this.proxies !== undefined;
    const isNewPath =
      usesProxies && (this.proxies ??= new EndpointProxies()).update(resource, endpoints);
    // No connection made in another way serves a new call; running calls end where they are.
    if ((isNewPolicy || isNewPath) && this.applied !== undefined) this.child.destroy();
    this.use(applied);
    const { policies } = this.host.environment;
    if (this.child.isStarted || !canWaitForCall(policies, resource.lbConfig, endpoints))
      this.updateLeaf(applied, leaf);
    else this.child.waitForCall(() => this.updateLeaf(applied, leaf));
  }

  private updateLeaf({ cluster, context }: Applied, leaf: UsableLeaf): void {
    const previous = this.plan instanceof PriorityConfig ? undefined : this.plan;
    const { resource } = cluster;
    const { options, xds } = context;
    const plan = planLeaf(resource, leaf.endpoints, previous, this.supported, xds?.loads);
    this.plan = plan;
    this.leafContext = shareFields(this.leafContext, {
      options,
      // The plan is complete. Without the clusters, changes of others do not reach the child.
      xds: undefined,
      childChannelOptions: xds?.childChannelOptions,
    });
    this.updateNote();
    this.child.update(plan.config, plan.endpoints, this.leafContext);
  }

  /** Called again when it is known which credentials the connections use. */
  private updateNote(): void {
    const { children } = this.applied?.cluster ?? {};
    if (this.applied === undefined || children?.kind !== 'endpoints') return;
    const { cluster, context, name } = this.applied;
    const used = { name, resource: cluster.resource, nodeId: context.xds?.nodeId ?? '' };
    const note = this.security.completeNote(used, children.resolutionNote);
    if (note === this.note) return;
    this.note = note;
    this.onStateChanged();
  }

  private applyAggregate(applied: Applied, { leafClusters }: AggregatePlan): void {
    // Each of its clusters has security and proxies of its own.
    this.security.clear();
    this.proxies?.clear();
    this.note = '';
    const previous = this.plan instanceof PriorityConfig ? this.plan : undefined;
    const config = planAggregate(leafClusters, previous);
    this.plan = config;
    this.use(applied);
    this.child.update(config, emptyEndpointSet, applied.context);
  }

  /** Records the input of the child, before the child is updated. */
  private use(applied: Applied): void {
    const { logger } = this.host.environment;
    if (applied.cluster !== this.applied?.cluster)
      logger.trace(TRACER, () => `cluster ${quoteName(applied.cluster.resource.name)} changed`);
    if (this.applied === undefined) this.onStateChanged();
    this.applied = applied;
    this.setFailure(undefined);
  }

  private fail(cluster: string, { reason, note = '' }: ClusterFailure): void {
    this.applied = undefined;
    this.plan = undefined;
    this.child.destroy();
    const text = failureText(reason.message, note);
    const details = failureText(datedMessage(reason, this.beginFailing()), note);
    if (this.setFailure(text, details)) this.log.onUnusable(cluster, text);
  }
}

interface Subscription {
  readonly config: CdsConfig;
  readonly clusters: ClusterStore;
  readonly watch: Handle;
  /** Keeps a dynamic cluster in the config. */
  readonly kept: Handle | undefined;
}

/** The subscription of a policy to its cluster: watches it and, if it is a dynamic one, keeps it in the config (gRFC A74). */
export class ClusterSubscription {
  private current: Subscription | undefined;

  constructor(private readonly watcher: ClusterWatcher) {}

  /** Subscribes to the cluster of the config, and to no other. */
  update(config: CdsConfig, clusters: ClusterStore): void {
    const before = this.current;
    if (before?.config === config && before.clusters === clusters) return;
    const { cluster, isDynamic } = config;
    // Before: a watcher watches a cluster once.
    before?.watch.release();
    const watch = clusters.watchCluster(cluster, this.watcher);
    const kept = isDynamic ? clusters.subscribeCluster(cluster) : undefined;
    this.current = { config, clusters, watch, kept };
    // Afterwards, so that a cluster that stays in use never leaves the config.
    before?.kept?.release();
  }

  release(): void {
    this.current?.watch.release();
    this.current?.kept?.release();
    this.current = undefined;
  }
}
