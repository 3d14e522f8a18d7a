import type { Limits } from '../bootstrap/limits';
import type { ClusterResource } from '../resources/cluster/cluster';
import type { EndpointCollection, EndpointsResource } from '../resources/endpoints/endpoints';
import type { ListenerResource } from '../resources/listener/listener';
import type { RouteConfigResource } from '../resources/route-config/route-config';
import type { Clock } from '../util/clock';
import { createHandle, type Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import { err, ok, type Result } from '../util/result';
import type { TimeSlices } from '../util/time-slices';
import type { ResourceType } from '../xds-client/resource-type';
import { buildXdsConfig, changedClusters, type BuiltXdsConfig } from './build-xds-config';
import { DnsWatches, type DnsWatcherFactory } from './dns-watch';
import type * as Collections from './endpoint-collections';
import type * as HeldBackModule from './held-back';
import type { HeldBack } from './held-back';
import { waiting, type NeededWatches } from './observations';
import { WatchSet, type WatchResource } from './watch-set';
import type { ClusterResult, ClusterStore, ClusterWatcher, XdsConfig } from './xds-config';
import { lazy } from '../util/lazy';
import type { ResourceSource, WatchError } from '../xds-client/resource-watcher';
import { afterRunning } from '../util/running-time';

const loadHeldBack = lazy<typeof HeldBackModule>(() => require('./held-back'));
const loadCollections = lazy<typeof Collections>(() => require('./endpoint-collections'));

/** The types of the resources that a target depends on. */
export interface ClientResourceTypes {
  readonly listener: ResourceType<ListenerResource>;
  readonly routeConfig: ResourceType<RouteConfigResource>;
  readonly cluster: ResourceType<ClusterResource>;
  readonly endpoints: ResourceType<EndpointsResource>;
  /** Absent if assignments do not refer to collections (gRFC A95). */
  readonly endpointCollection?: ResourceType<EndpointCollection>;
}

export interface DependencyManagerOptions {
  readonly source: ResourceSource;
  readonly types: ClientResourceTypes;
  readonly dns: DnsWatcherFactory;
  /** Full resource name. */
  readonly listenerName: string;
  /** The data-plane authority, by which the virtual host is chosen. */
  readonly host: string;
  /** Names the management servers and the node, such as `management server s:443 (node "n1")`; appended to errors. */
  readonly clientNote: string;
  readonly limits: Pick<Limits, 'maxClustersPerTarget'>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Those in which the policies of the channel apply the config. */
  readonly timeSlices: Pick<TimeSlices, 'whenIdle'>;
  /**
   * Receives each new config, or why the target cannot be used, before the watchers of the clusters that changed are
   * called. Called from the source's queue.
   */
  readonly onUpdate: (update: Result<XdsConfig, WatchError>) => void;
  /**
   * Called when a config that follows from a response is in use: the watchers of its clusters have published their pickers.
   * @param receivedAtMs When the first response of those that the config follows from was received; see `ResourceSource`.
   */
  readonly onApplied?: ((receivedAtMs: number) => void) | undefined;
}

/**
 * Milliseconds for which a first config waits for the last of its clusters. Then those that are there serve calls, and the others
 * hold back only the calls to themselves.
 */
const FIRST_CONFIG_GRACE_MS = 100;

/**
 * Watches everything that one target depends on, and publishes one consistent config at a time (gRFC A74). A watch only
 * records; `buildXdsConfig` computes what follows, once for the reports that are queued. Watches that this starts may report at once and
 * cause another computation.
 */
export class XdsDependencyManager implements ClusterStore {
  private readonly listeners: WatchSet<string, ListenerResource>;
  private readonly routeConfigs: WatchSet<string, RouteConfigResource>;
  private readonly clusters: WatchSet<string, ClusterResource>;
  private readonly endpoints: WatchSet<string, EndpointsResource>;
  private readonly dns: DnsWatches;
  /** Whether changes are about to be applied. */
  private isUpdateDue = false;
  /** The number of subscriptions per cluster. */
  private readonly subscribed = new Map<string, number>();
  /** The watchers of each cluster. */
  private readonly watchers = new Map<string, Set<ClusterWatcher>>();
  /** What follows from the watches. */
  private built: BuiltXdsConfig | undefined;
  /** The config that was published last, or the error. */
  private published: XdsConfig | string | undefined;
  /** The rejection last logged. */
  private rejection: string | undefined;
  /** The watches behind the last config. */
  private neededByConfig: NeededWatches | undefined;
  /** Ends the wait of the first config. */
  private grace: Handle | undefined;
  /** Whether the first config may be without clusters that are pending. */
  private acceptsPart = false;
  /** When the first response was received that is not applied yet; `undefined` if there is none. */
  private receivedAtMs: number | undefined;
  private closed = false;

  constructor(private readonly options: DependencyManagerOptions) {
    const { listener, routeConfig, cluster } = options.types;
    this.listeners = this.watchesOf(this.watchOf(listener));
    this.routeConfigs = this.watchesOf(this.watchOf(routeConfig));
    this.clusters = this.watchesOf(this.watchOf(cluster));
    this.endpoints = this.watchesOf(this.watchEndpoints());
    this.dns = new DnsWatches({
      source: options.source,
      dns: options.dns,
      clock: options.clock,
      logger: options.logger,
      clientNote: options.clientNote,
      usersOf: (key) => this.dnsUsersOf(key),
      onReport: () => this.onChange(),
    });
  }

  /** Starts watching. */
  start(): void {
    this.options.source.run(() => {
      if (!this.closed) this.listeners.reconcile(new Set([this.options.listenerName]));
    });
  }

  /**
   * Releases every watch. No update is published afterwards.
   * @param onReleased Called when all are released. Default: nothing happens.
   */
  close(onReleased: () => void = () => {}): void {
    this.closed = true;
    this.grace?.release();
    // In one task: names that are not watched any more are all left out of the next request.
    this.options.source.run(() => {
      this.listeners.clear();
      this.routeConfigs.clear();
      this.clusters.clear();
      this.endpoints.clear();
      this.dns.set.clear();
      onReleased();
    });
  }

  cluster(name: string): ClusterResult | undefined {
    return this.built?.latest?.clusters.get(name);
  }

  watchCluster(name: string, watcher: ClusterWatcher): Handle {
    const watchers = this.watchers.get(name) ?? new Set();
    watchers.add(watcher);
    this.watchers.set(name, watchers);
    return createHandle(() => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.watchers.get(name) === watchers) this.watchers.delete(name);
    });
  }

  subscribeCluster(name: string): Handle {
    this.subscribed.set(name, (this.subscribed.get(name) ?? 0) + 1);
    if (this.built?.latest?.clusters.has(name) !== true) this.onChange();
    return createHandle(() => this.unsubscribeCluster(name));
  }

  hurry(): Handle {
    return this.options.source.hurry();
  }

  requestReresolution(): void {
    this.dns.requestReresolution();
  }

  describeWait(name: string): string | undefined {
    const pending = this.built?.pending.clusters.get(name);
    if (pending === undefined) return undefined;
    const { source } = pending;
    const ofName = source.kind === 'dns' ? this.dns.describeWait(source.key) : undefined;
    const { clock, clientNote } = this.options;
    const describe = () => loadHeldBack().describeClusterWait(name, pending, clock.monotonicMs());
    return ofName ?? `${describe()} (${clientNote})`;
  }

  resource(name: string): Result<ClusterResource, string> | undefined {
    const cluster = this.cluster(name);
    if (cluster !== undefined)
      return cluster.ok ? ok(cluster.value.resource) : err(cluster.error.message);
    const observed = this.clusters.get(name);
    return observed?.kind === 'value' ? ok(observed.value) : undefined;
  }

  /** Whether the config in use follows from the latest resources, and no cluster of it is pending. */
  get isWhole(): boolean {
    return this.built?.isWhole === true;
  }

  /** Returns one line for each DNS name without an answer, and one with the number of those beyond `atMost`. */
  waitingFor(atMost: number): readonly string[] {
    return this.dns.waitingFor(atMost);
  }

  /** Returns for how many milliseconds the oldest of the resources of `heldBack` has been held back; 0 if there is none. */
  oldestHeldMs(): number {
    if (this.built === undefined) return 0;
    return loadHeldBack().oldestHeldMs(this.built.pending, this.options.clock.monotonicMs());
  }

  /** Returns the resources that were accepted and are not in use because others are pending. */
  heldBack(atMost: number): readonly HeldBack[] {
    if (this.built === undefined) return [];
    return loadHeldBack().heldBack(this.built.pending, this.options.clock.monotonicMs(), atMost);
  }

  private unsubscribeCluster(name: string): void {
    const left = (this.subscribed.get(name) ?? 0) - 1;
    if (left > 0) {
      this.subscribed.set(name, left);
      return;
    }
    this.subscribed.delete(name);
    // No effect while the routes name the cluster.
    if (this.built?.latest?.virtualHost.clusters.has(name) !== true) this.onChange();
  }

  /** Applies changes behind the notifications that are queued already. */
  private onChange(): void {
    if (this.isUpdateDue) return;
    this.isUpdateDue = true;
    this.options.source.run(() => {
      this.isUpdateDue = false;
      if (!this.closed) this.update();
    });
  }

  /** Applies all changes. */
  private update(): void {
    const { listenerName, host, clientNote, limits, clock } = this.options;
    const before = this.built?.latest;
    const observed = {
      listener: this.listeners.get(listenerName) ?? waiting,
      routeConfigs: this.routeConfigs,
      clusters: this.clusters,
      endpoints: this.endpoints,
      dns: this.dns.set,
    };
    const inputs = {
      listenerName,
      host,
      clientNote,
      observed,
      maxClusters: limits.maxClustersPerTarget,
      subscribed: [...this.subscribed.keys()],
      acceptPart: this.acceptsPart,
      nowMs: clock.monotonicMs(),
    };
    this.built = buildXdsConfig(inputs, this.built);
    const { config, pending, rejection } = this.built;
    if (config?.ok === true) this.acceptsPart = false;
    if (rejection !== this.rejection) this.reportRejection(rejection);
    this.reconcile(this.built);
    const { routes } = pending;
    const hasPart = routes && routes.clusters.size < routes.routes.virtualHost.clusters.size;
    if (config === undefined && hasPart === true) this.waitForRest();
    else {
      this.grace?.release();
      this.grace = undefined;
    }
    const { receivedAtMs } = this;
    this.receivedAtMs = undefined;
    if (config !== undefined) this.publish(config, before, receivedAtMs);
  }

  private dnsUsersOf(key: string): readonly string[] {
    const pending = this.built?.pending.clusters ?? new Map<string, never>();
    return Array.from(pending)
      .filter(([, { source }]) => source.kind === 'dns' && source.key === key)
      .map(([name]) => name);
  }

  /** Gives the last clusters of a first config some time. */
  private waitForRest(): void {
    const { source, clock } = this.options;
    const onOver = () => {
      this.acceptsPart = true;
      this.onChange();
    };
    this.grace ??= afterRunning(clock, () => source.run(onOver), FIRST_CONFIG_GRACE_MS);
  }

  private reportRejection(rejection: string | undefined): void {
    this.rejection = rejection;
    if (rejection === undefined) return;
    this.options.logger.error(() => `${rejection}; the last routes stay in use`);
  }

  /** Starts and stops watches. While a resource is pending, those of what stays in use are kept. */
  private reconcile(built: BuiltXdsConfig): void {
    const { needed } = built;
    const isComplete = built.config?.ok === false || built.isWhole;
    const kept = isComplete ? undefined : this.neededByConfig;
    if (isComplete) this.neededByConfig = needed;
    this.routeConfigs.reconcile(needed.routeConfigs, kept?.routeConfigs);
    this.clusters.reconcile(needed.clusters, kept?.clusters);
    this.endpoints.reconcile(needed.endpoints, kept?.endpoints);
    this.dns.set.reconcile(needed.dns, kept?.dns);
  }

  /** Publishes a config or an error that is not published yet, and notifies the watchers of the clusters that changed. */
  private publish(
    update: Result<XdsConfig, WatchError>,
    before: XdsConfig | undefined,
    receivedAtMs: number | undefined,
  ): void {
    const { onUpdate, onApplied, timeSlices } = this.options;
    const content = update.ok ? update.value : update.error.message;
    const isNew = content !== this.published;
    const changed = update.ok
      ? changedClusters(before?.clusters, update.value.clusters)
      : new Set<string>();
    try {
      if (isNew) {
        // Counts as published only once it was received: if the receiver throws, the next update publishes it again.
        this.published = undefined;
        onUpdate(update);
        this.published = content;
      }
    } finally {
      this.notify(changed);
    }
    if (!update.ok || !isNew || receivedAtMs === undefined || onApplied === undefined) return;
    timeSlices.whenIdle(() => onApplied(receivedAtMs));
  }

  /** Calls the watchers of clusters that changed, all in one task of each batch: however many clusters changed, there is one picker. */
  private notify(clusters: ReadonlySet<string>): void {
    const due: ClusterWatcher[] = [];
    for (const name of clusters) {
      const result = this.cluster(name);
      const children = result?.ok === true ? result.value.children : undefined;
      if (children?.kind === 'aggregate' && children.rejection !== undefined) {
        const { rejection } = children;
        this.options.logger.error(() => `${rejection}; its last clusters stay in use`);
      }
      for (const watcher of this.watchers.get(name) ?? []) due.push(watcher);
    }
    for (const batch of new Set(due.map((watcher) => watcher.batch))) {
      batch.run(() => {
        for (const watcher of due) if (watcher.batch === batch) watcher.onClusterChanged();
      });
    }
  }

  private watchOf<T>(type: ResourceType<T>): WatchResource<T> {
    return (name, watcher) => this.options.source.watch(type, name, watcher);
  }

  private watchEndpoints(): WatchResource<EndpointsResource> {
    const { source, types } = this.options;
    const { endpoints, endpointCollection } = types;
    return endpointCollection === undefined
      ? this.watchOf(endpoints)
      : loadCollections().watchWithCollections(source, endpoints, endpointCollection);
  }

  private watchesOf<T>(watch: WatchResource<T>): WatchSet<string, T> {
    const onReport = () => {
      if (this.closed) return;
      this.receivedAtMs ??= this.options.source.receivedAtMs;
      this.onChange();
    };
    return new WatchSet(watch, onReport);
  }
}
