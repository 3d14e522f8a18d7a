import type { Bootstrap } from '../bootstrap/bootstrap';
import {
  XdsDependencyManager,
  type DependencyManagerOptions,
} from '../dependency-manager/dependency-manager';
import type { HeldBack } from '../dependency-manager/held-back';
import type { ClusterStore, XdsConfig } from '../dependency-manager/xds-config';
import type { ChannelOptions } from '../grpc-js';
import { CdsConfig } from '../lb/cds/config';
import { ClusterManagerConfig } from '../lb/cluster-manager/config';
import type { XdsLbContext } from '../lb/lb-policy';
import type { LbConfig } from '../resources/extension-points';
import { OwnInstruments } from '../observe/stats/instruments';
import type { ChannelRates } from '../observe/rates/process-rates';
import type { ChannelStats } from '../observe/stats/stats-plugin';
import type { Handle } from '../util/handle';
import { err, ok, type Result } from '../util/result';
import { datedMessage, toIso } from '../util/since';
import type { WatchError } from '../xds-client/resource-watcher';
import { diagnostics } from '../xds-client/diagnostics';
import { describeServers } from '../xds-client/xds-errors';
import { ClusterRefs } from './cluster-refs';
import type {
  ClientRef,
  LiveConfig,
  LiveResolution,
  XdsResolverDependencies,
} from './resolver-dependencies';
import { RouteTable } from './route-table';
import type { Origin } from './status-explanation';
import { describeRoots } from './status-explanation';

/** Receives the results of a resolution. */
export interface ResolutionOwner {
  /** Publishes a new config or set of clusters. @returns whether the channel accepted it. */
  publish(config: ResolvedConfig): boolean;
  /**
   * Called when the target cannot be used.
   * @param isLogged Whether that is because of a failed server, which has a line in the log for all targets.
   */
  onFailure(details: string, isLogged: boolean): void;
}

/** The parts of a result for the channel. */
export interface ResolvedConfig {
  readonly table: RouteTable;
  readonly lbConfig: LbConfig;
  readonly lbContext: XdsLbContext;
  /** Why the target can no longer be used; the last config stays in use for running calls. */
  readonly failure: string | undefined;
}

export interface ResolutionOptions {
  readonly bootstrap: Bootstrap;
  /** The target, as a URI. */
  readonly target: string;
  readonly listenerName: string;
  /** The data-plane authority. */
  readonly host: string;
  readonly channelOptions: ChannelOptions;
  /** `undefined` if no plugin observes the channel. */
  readonly stats: ChannelStats | undefined;
  /** Counts its calls while a page is served; `undefined` if nothing does. */
  readonly rates: ChannelRates | undefined;
  readonly shared: XdsResolverDependencies;
  readonly owner: ResolutionOwner;
}

/**
 * The resolution of one target, from its start until the channel is idle or closed: watches the target's config, compiles
 * its routes and determines the clusters that a route or a running call references (gRFCs A31, A74).
 */
export class Resolution implements LiveResolution {
  private readonly client: ClientRef;
  private readonly manager: XdsDependencyManager;
  private readonly clusterRefs: ClusterRefs;
  private readonly lbContext: XdsLbContext;
  private readonly gauges: Handle | undefined;
  /** Names the management servers and the node. */
  private readonly servers: string;
  /** The compiled routes in use; `undefined` before the first config. */
  private routes: LiveConfig | undefined;
  private tableRef: Handle | undefined;
  private lbConfig: { readonly config: LbConfig; readonly revision: number } | undefined;
  /** Whether the channel has the current routes, clusters and failure. */
  private isPublished = false;
  private isClosed = false;
  private currentFailure: string | undefined;
  /** When the first failure since there was a usable config was, in milliseconds since the epoch. */
  private failingSinceMs: number | undefined;

  constructor(private readonly options: ResolutionOptions) {
    const { bootstrap, target, stats, rates, shared } = options;
    this.client = shared.acquireClient(bootstrap, target);
    this.servers = describeServers(bootstrap, options.listenerName, shared.types.listener.typeUrl);
    this.manager = new XdsDependencyManager(this.createManagerOptions());
    this.clusterRefs = new ClusterRefs(
      (cluster) => this.manager.subscribeCluster(cluster),
      (cluster) => new CdsConfig(cluster, false),
      () => this.queuePublication(),
      (task) => this.client.client.run(task),
    );
    this.gauges = stats?.observeGauges([OwnInstruments.HELD_BACK], (report) => {
      report(OwnInstruments.HELD_BACK, this.manager.oldestHeldMs() / 1000, {});
    });
    const { id: nodeId } = bootstrap.node;
    const certificates = shared.certificates.of(bootstrap, this.client.connectionOptions);
    this.lbContext = {
      clusters: this.manager,
      nodeId,
      target: options.target,
      authority: options.host,
      certificates: { ...certificates, stats },
      loads: this.client.loads,
      stats,
      rates,
      childChannelOptions: shared.childChannelOptions,
    };
  }

  /** Why the target cannot be used; `undefined` if it can, or if its config is incomplete. */
  get failure(): string | undefined {
    return this.currentFailure;
  }

  /** When the first failure since the target could be used was; `undefined` if it can. */
  get failingSince(): string | undefined {
    return this.failingSinceMs === undefined ? undefined : toIso(this.failingSinceMs);
  }

  get target(): string {
    return this.options.target;
  }

  get xdsClient(): object {
    return this.client.client;
  }

  get clusters(): ClusterStore {
    return this.manager;
  }

  get live(): LiveConfig | undefined {
    return this.isExpired ? undefined : this.routes;
  }

  /** Where the config in use is from; `undefined` before the first. */
  get origin(): Origin | undefined {
    const { routes, servers } = this;
    return routes && { server: servers, resources: describeRoots(routes.config) };
  }

  /** Whether there ever was a config. */
  get hasConfig(): boolean {
    return this.routes !== undefined;
  }

  /** Whether calls must not be routed by its last config. */
  get isExpired(): boolean {
    return this.isClosed || this.currentFailure !== undefined;
  }

  /** Starts watching. */
  start(): void {
    this.options.shared.liveResolutions.add(this);
    this.manager.start();
  }

  /** Requests that every DNS cluster is resolved again. */
  requestReresolution(): void {
    this.manager.requestReresolution();
  }

  /** Returns the pending resources and DNS names of the config, as sentences. */
  waitingFor(atMost: number): readonly string[] {
    const names = this.manager.waitingFor(atMost);
    return [...names, ...this.client.client.waitingFor(Math.max(0, atMost - names.length))];
  }

  /** Returns the resources that were accepted and are not in use because others are pending. */
  heldBack(atMost: number): readonly HeldBack[] {
    return this.manager.heldBack(atMost);
  }

  /** Publishes the same config once more: the channel then picks for every queued call again. */
  publishAgain(): void {
    if (this.isClosed) return;
    this.lbConfig = undefined;
    this.publish();
  }

  /** Releases everything. Nothing is delivered afterwards. */
  close(): void {
    this.isClosed = true;
    this.clusterRefs.close();
    this.options.shared.liveResolutions.delete(this);
    this.gauges?.release();
    this.manager.close(() => this.client.release());
    this.tableRef?.release();
  }

  private createManagerOptions(): DependencyManagerOptions {
    const { listenerName, host, channelOptions, stats, shared } = this.options;
    const applied = stats?.series(OwnInstruments.APPLY_DURATION, {});
    return {
      source: this.client.client,
      types: shared.types,
      dns: shared.createDns(channelOptions),
      listenerName,
      host,
      clientNote: this.servers,
      limits: shared.limits,
      logger: shared.logger,
      clock: shared.clock,
      timeSlices: shared.timeSlices,
      onUpdate: (update) => {
        if (!this.isClosed) this.onUpdate(update);
      },
      onApplied:
        applied &&
        ((receivedAtMs) => applied.add((shared.clock.monotonicMs() - receivedAtMs) / 1000)),
    };
  }

  private onUpdate(update: Result<XdsConfig, WatchError>): void {
    if (update.ok) {
      this.apply(update.value);
      return;
    }
    this.failingSinceMs ??= this.options.shared.clock.now();
    const { error } = update;
    const failure = datedMessage(error, this.failingSinceMs);
    this.publishEvent(err(failure));
    this.currentFailure = failure;
    // That a server cannot be reached is in the log, with its time, for all targets.
    const isLogged = error.kind === 'unreachable' && error.sinceMs !== undefined;
    this.options.owner.onFailure(failure, isLogged);
    this.publish();
  }

  /** Compiles the routes anew only if they, or what they inherit from the listener, changed. */
  private apply(config: XdsConfig): void {
    const before = this.routes;
    const isUnchanged =
      before?.config.virtualHost === config.virtualHost &&
      before.config.listener === config.listener;
    if (isUnchanged) {
      this.routes = { config, table: before.table };
    } else {
      const { host, shared } = this.options;
      const inputs = { config, preparer: shared.httpFilters, defaultAuthority: host };
      this.useTable({ config, table: new RouteTable(inputs, this.clusterRefs) });
    }
    this.onConfig();
    this.publishEvent(ok(config));
  }

  private useTable(routes: LiveConfig): void {
    const before = this.tableRef;
    this.tableRef = routes.table.acquire();
    this.routes = routes;
    this.isPublished = false;
    // Afterwards: clusters that both tables name stay in the config.
    before?.release();
  }

  /** The channel is involved only if routes, clusters or the failure changed: `cds` policies watch their clusters. */
  private onConfig(): void {
    if (this.currentFailure !== undefined) this.isPublished = false;
    this.currentFailure = undefined;
    this.failingSinceMs = undefined;
    if (!this.isPublished || this.lbConfig?.revision !== this.clusterRefs.revision) this.publish();
  }

  /** Publishes removed clusters after the current task, unless another publication has included them. */
  private queuePublication(): void {
    this.client.client.run(() => {
      const isDue = this.lbConfig?.revision !== this.clusterRefs.revision;
      if (isDue && !this.isClosed) this.publish();
    });
  }

  private publish(): void {
    if (this.routes === undefined) return;
    const { table } = this.routes;
    const { lbContext, currentFailure: failure } = this;
    try {
      const lbConfig = this.updateLbConfig();
      this.isPublished = this.options.owner.publish({ table, lbConfig, lbContext, failure });
    } catch (error) {
      this.lbConfig = undefined;
      throw error;
    }
  }

  /** Updates the config to the clusters that are referenced; it is the same object while their set is unchanged. */
  private updateLbConfig(): LbConfig {
    const { clusterRefs, lbConfig } = this;
    const { revision } = clusterRefs;
    if (lbConfig?.revision === revision) return lbConfig.config;
    const children = new Map<string, LbConfig>();
    for (const { childName, lbConfig: ofChild } of clusterRefs.all()) {
      children.set(childName, ofChild);
    }
    const config = new ClusterManagerConfig(children);
    this.lbConfig = { config, revision };
    return config;
  }

  /** Publishes to the subscribers of the diagnostics channels. */
  private publishEvent(update: Result<XdsConfig, string>): void {
    const { configPublished, configFailed } = diagnostics;
    if (!configPublished.hasSubscribers && !configFailed.hasSubscribers) return;
    const { target, bootstrap } = this.options;
    const { id: nodeId } = bootstrap.node;
    if (!update.ok) {
      configFailed.publish({ nodeId, target, error: update.error });
      return;
    }
    const { listener, clusters } = update.value;
    configPublished.publish({ nodeId, target, listener: listener.name, clusters: clusters.size });
  }
}
