import type {
  ClusterConfig,
  ClusterWatcher,
  ClusterStore,
} from '../../dependency-manager/xds-config';
import {
  ConnectivityState,
  type ChannelOptions,
  type Picker,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import type { EndpointsResource } from '../../resources/endpoints/endpoints';
import { ok } from '../../util/result';
import type { Steps } from '../../util/steps';
import { SteppedUpdates } from '../../util/time-slices';
import { failureText, WaitPicker } from '../connectivity';
import { emptyEndpointSet } from '../endpoints/endpoint-set';
import type { LbPolicyType, LbUpdate, XdsLbContext } from '../lb-policy';
import { childUpdate } from '../tree/lb-update';
import { PriorityConfig } from '../priority/config';
import { type OnlyChild, type SingleChildDelegate, SingleChildPolicy } from '../tree/single-child';
import { ClusterLog, FailingEndpoints, type ReportedCluster } from './cluster-log';
import { canWaitForCall, DeferredChild } from './deferred-child';
import { planAggregate, planLeaf, planOptions, type LeafPlan } from './child-plan';
import type { CdsConfig } from './config';
import { CDS, parseCdsConfig } from './config';
import { EndpointProxies } from './endpoint-proxies';
import type { StateDetails } from '../tree/policy-state';
import { TransportSecurity, UnusedTlsReports } from './transport-security';
import type { Handle } from '../../util/handle';
import { quoteName } from '../../util/text';

/**
 * Makes the policy for one cluster of the `XdsConfig` usable (gRFCs A27, A74, A75): at once, or, if its policy connects
 * on demand, when the first call needs it.
 */
export function createCdsPolicyType(): LbPolicyType {
  const tlsReports = new UnusedTlsReports();
  return {
    name: CDS,
    parseConfig: parseCdsConfig,
    create: (host) =>
      new SingleChildPolicy(
        host,
        (options) => new DeferredChild(options),
        (only) => new Cds(only, tlsReports),
      ),
  };
}

const TRACER = 'cds_balancer';

/** The endpoints of a cluster, and why they may be outdated or none. */
type LeafChildren = Extract<ClusterConfig['children'], { kind: 'endpoints' }>;

/** The input that the child was updated from. */
interface Applied {
  /** The name in the config of the policy. The resource may spell it differently. */
  readonly name: string;
  readonly cluster: ClusterConfig;
  readonly options: ChannelOptions;
  readonly xds: XdsLbContext | undefined;
}

class Cds implements SingleChildDelegate<CdsConfig>, ClusterWatcher {
  readonly batch: ClusterWatcher['batch'];
  private readonly security: TransportSecurity;
  private readonly proxies = new EndpointProxies();
  private readonly log: ClusterLog;
  /** Created when an endpoint fails. */
  private failing: FailingEndpoints | undefined;
  private readonly subscription = new ClusterSubscription(this);
  private latest: LbUpdate<CdsConfig> | undefined;
  /** `undefined` while the cluster cannot be used. */
  private applied: Applied | undefined;
  /** The plan of the child, reused by the next one. */
  private plan: LeafPlan | PriorityConfig | undefined;
  private readonly updates: SteppedUpdates<LbUpdate<CdsConfig>>;

  constructor(
    private readonly only: OnlyChild<DeferredChild>,
    tlsReports: UnusedTlsReports,
  ) {
    const { environment } = only.host;
    const { batch, logger } = environment;
    this.batch = batch;
    this.updates = new SteppedUpdates({ environment, apply: (update) => this.apply(update) });
    this.security = new TransportSecurity(tlsReports, logger);
    this.log = new ClusterLog(only.host.environment, () => only.child);
  }

  update(update: LbUpdate<CdsConfig>): void {
    const { config, xds, endpoints } = update;
    if (xds === undefined) {
      const text = endpoints.ok ? `${CDS} works only under the xds resolver` : endpoints.error;
      this.failUnlessServing(config.cluster, text);
      return;
    }
    this.latest = update;
    this.subscription.update(config, xds.clusters);
    this.onClusterChanged();
  }

  describe(): StateDetails {
    const cluster = this.latest?.config.cluster;
    const unusedTls = this.security.describe();
    return {
      ...(cluster !== undefined && { cluster }),
      ...(unusedTls !== undefined && { unusedTls }),
    };
  }

  onClusterChanged(): void {
    if (this.latest !== undefined) this.updates.add(this.latest);
  }

  /** Applies the cluster as it is in the config in use now. */
  private *apply(update: LbUpdate<CdsConfig>): Steps<void> {
    const { config, xds } = update;
    if (xds === undefined) return;
    const cluster = xds.clusters.cluster(config.cluster);
    if (cluster === undefined) this.onMissing(config, xds.clusters);
    else if (cluster.ok) yield* this.updateChild(config.cluster, cluster.value, update);
    else this.fail(config.cluster, cluster.error);
  }

  /** The picker of the child is used as it is. Those of aggregate clusters repeat what their clusters log. */
  createPicker(childPicker: Picker): Picker {
    if (this.applied === undefined) return new WaitPicker(() => this.describeWait());
    const { cluster, name } = this.applied;
    if (cluster.children.kind === 'endpoints') this.log.onState(name, this.only.child);
    if (this.only.child.state === ConnectivityState.READY) this.failing?.onReady();
    return childPicker;
  }

  get endpointWatcher(): FailingEndpoints {
    return (this.failing ??= new FailingEndpoints(this.only.host.environment, () =>
      this.reported(),
    ));
  }

  /** The cluster for a report of its endpoints. Those of aggregate clusters are reported by their clusters. */
  private reported(): ReportedCluster | undefined {
    const { name = '', cluster } = this.applied ?? {};
    if (cluster?.children.kind !== 'endpoints') return undefined;
    const { priorities = [] } = cluster.children.endpoints ?? {};
    const localities = priorities.flatMap((priority) => priority.localities);
    return { name, state: this.only.child.state, localities };
  }

  release(): void {
    this.log.release();
    this.failing?.release();
    this.subscription.release();
    this.updates.cancel();
    this.latest = undefined;
    this.applied = undefined;
  }

  private onMissing({ cluster, isDynamic }: CdsConfig, clusters: ClusterStore): void {
    // A dynamic cluster is in the config only some time after it was subscribed to, and one that is late after the others.
    const isLate = isDynamic || clusters.describeWait(cluster) !== undefined;
    if (isLate && this.applied === undefined) this.wait();
    else
      this.failUnlessServing(
        cluster,
        `Cluster ${quoteName(cluster)} is not part of the xDS config`,
      );
  }

  /** Queues calls until the cluster is part of the config. */
  private wait(): void {
    this.only.setFailure(undefined);
    this.only.requestPublication();
  }

  private describeWait(): string {
    const { config, xds } = this.latest ?? {};
    const name = config?.cluster ?? '';
    return (
      xds?.clusters.describeWait(name) ??
      `Cluster ${quoteName(name)}: waiting for its configuration`
    );
  }

  private *updateChild(name: string, cluster: ClusterConfig, update: LbUpdate): Steps<void> {
    const { children } = cluster;
    if (children.kind === 'endpoints') yield* this.updateLeaf({ name, cluster }, children, update);
    else this.updateAggregate({ name, cluster }, children, update);
  }

  private *updateLeaf(
    { name, cluster }: Pick<Applied, 'name' | 'cluster'>,
    { endpoints, resolutionNote }: LeafChildren,
    update: LbUpdate,
  ): Steps<void> {
    const { resource } = cluster;
    const { options, xds } = update;
    if (this.applied?.cluster === cluster && this.applied.options === options) return;
    if (endpoints === undefined || endpoints.priorities.length === 0) {
      // The note has the cause: an assignment or DNS answer that is empty, or is not known.
      const text = `Cluster ${quoteName(resource.name)} has no endpoints`;
      this.fail(name, failureText(text, resolutionNote));
      return;
    }
    const applied: Applied = { name, cluster, options, xds };
    const { security, proxies } = this;
    const takeSecurity = yield* security.prepare(name, resource, xds?.certificates, endpoints);
    const takeProxies = yield* proxies.prepare(resource, endpoints);
    const isNewPolicy = takeSecurity();
    const isNewPath = takeProxies();
    // No connection made in another way serves a new call; running calls end where they are.
    if ((isNewPolicy || isNewPath) && this.applied !== undefined) this.only.child.destroy();
    this.use(applied);
    const { policies } = this.only.host.environment;
    this.only.child.update(
      () => this.createLeafUpdate(applied, endpoints, resolutionNote),
      canWaitForCall(policies, resource.lbConfig, endpoints),
    );
  }

  private createLeafUpdate(
    { name, cluster, options, xds }: Applied,
    endpoints: EndpointsResource,
    resolutionNote: string,
  ): LbUpdate {
    const previous = this.plan instanceof PriorityConfig ? undefined : this.plan;
    const { policies } = this.only.host.environment;
    const { resource } = cluster;
    const nodeId = xds?.nodeId ?? '';
    const plan = planLeaf(resource, endpoints, previous, planOptions(policies, xds?.loads));
    this.plan = plan;
    return {
      config: plan.config,
      endpoints: ok(plan.endpoints),
      options,
      // The plan is complete. Without the context, changes of other clusters do not reach the child.
      xds: undefined,
      childChannelOptions: xds?.childChannelOptions,
      resolutionNote: this.security.completeNote({ name, resource, nodeId }, resolutionNote),
    };
  }

  createSubchannel(address: SubchannelAddress, args: ChannelOptions): Subchannel {
    const { host } = this.only;
    const secured = this.security.argsOf(address, args);
    return this.proxies.createSubchannel(address, secured, (to, withArgs) => {
      const subchannel = host.createSubchannel(to, withArgs);
      if (this.security.observe(subchannel) && this.security.isUnused) {
        const { batch, clock } = host.environment;
        // Afterwards: the child is in the middle of an update, or of a connection attempt.
        clock.soon(() => batch.run(() => this.updateNote()));
      }
      return subchannel;
    });
  }

  /** Repeats the update of the child of a leaf, now that it is known which credentials its connections use. */
  private updateNote(): void {
    const { applied } = this;
    const children = applied?.cluster.children;
    if (applied === undefined || children?.kind !== 'endpoints') return;
    const { endpoints, resolutionNote } = children;
    if (endpoints === undefined) return;
    this.only.child.update(() => this.createLeafUpdate(applied, endpoints, resolutionNote), false);
  }

  private updateAggregate(
    { name, cluster }: Pick<Applied, 'name' | 'cluster'>,
    { leafClusters }: Extract<ClusterConfig['children'], { kind: 'aggregate' }>,
    update: LbUpdate,
  ): void {
    if (leafClusters.length === 0) {
      this.fail(
        name,
        `Aggregate cluster ${quoteName(name)} has no clusters to use: add one that exists`,
      );
      return;
    }
    // Each of its clusters has security and proxies of its own.
    this.security.clear();
    this.proxies.clear();
    const previous = this.plan instanceof PriorityConfig ? this.plan : undefined;
    const config = planAggregate(leafClusters, previous);
    this.plan = config;
    this.use({ name, cluster, options: update.options, xds: update.xds });
    this.only.child.update(() => childUpdate(update, config, ok(emptyEndpointSet)), false);
  }

  /** Records the input of the child, before the child is updated. */
  private use(applied: Applied): void {
    const { logger } = this.only.host.environment;
    if (applied.cluster !== this.applied?.cluster)
      logger.trace(TRACER, () => `cluster ${quoteName(applied.cluster.resource.name)} changed`);
    if (this.applied === undefined) this.only.requestPublication();
    this.applied = applied;
    this.only.setFailure(undefined);
  }

  /** Fails calls, unless the cluster is in use: the last good configuration stays. */
  private failUnlessServing(cluster: string, text: string): void {
    if (this.applied?.name !== cluster) this.fail(cluster, text);
  }

  private fail(cluster: string, text: string): void {
    this.applied = undefined;
    this.plan = undefined;
    this.only.child.destroy();
    if (this.only.setFailure(text)) this.log.onUnusable(cluster, text);
  }
}

interface Subscription {
  readonly cluster: string;
  readonly isDynamic: boolean;
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
  update({ cluster, isDynamic }: CdsConfig, clusters: ClusterStore): void {
    const before = this.current;
    const isCurrent =
      before?.cluster === cluster && before.isDynamic === isDynamic && before.clusters === clusters;
    if (isCurrent) return;
    // Before: a watcher watches a cluster once.
    before?.watch.release();
    const watch = clusters.watchCluster(cluster, this.watcher);
    const kept = isDynamic ? clusters.subscribeCluster(cluster) : undefined;
    this.current = { cluster, isDynamic, clusters, watch, kept };
    // Afterwards, so that a cluster that stays in use never leaves the config.
    before?.kept?.release();
  }

  release(): void {
    this.current?.watch.release();
    this.current?.kept?.release();
    this.current = undefined;
  }
}
