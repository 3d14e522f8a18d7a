import type { Limits } from '../bootstrap/limits';
import type { ClusterResource } from '../resources/cluster';
import type { EndpointCollection } from '../resources/endpoint-collection';
import type { EndpointsResource } from '../resources/endpoints';
import type { ListenerResource } from '../resources/listener';
import type { RouteConfigResource } from '../resources/route-config';
import { createHandle, type Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import { err, ok, type Result } from '../util/result';
import type { ResourceType } from '../xds-client/resource-type';
import type { ResourceWatcher } from '../xds-client/resource-watcher';
import type { BuildResult } from './build-xds-config';
import { ChangeLog } from './change-log';
import type { DnsWatch, DnsWatcherFactory } from './dns-watch';
import { watchWithCollections } from './endpoint-collections';
import { nextBuild } from './next-build';
import { waiting, type DnsTarget, type NeededWatches, type Observed } from './observations';
import { referencedClusters } from './referenced-clusters';
import { createResourceWatches, type WatchResource } from './resource-watches';
import { WatchSet } from './watch-set';
import type { ClusterSubscriber, XdsConfig } from './xds-config';

/** Where resources come from: the XdsClient, seen by its users. */
export interface ResourceSource {
  /** Watches one resource. The watcher is never called before `watch` has returned, if called from `run`. */
  watch<T>(type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle;
  /** Runs the task in the source's queue, after everything already in it. */
  run(task: () => void): void;
  /**
   * One line for each pending resource, and one with the number of those beyond `atMost`. Absent if the source has no
   * such list.
   */
  waitingFor?(atMost: number): readonly string[];
}

/** The four kinds of resources of a client. */
export interface ClientResourceTypes {
  readonly listener: ResourceType<ListenerResource>;
  readonly routeConfig: ResourceType<RouteConfigResource>;
  readonly cluster: ResourceType<ClusterResource>;
  readonly endpoints: ResourceType<EndpointsResource>;
  /** Absent if assignments do not refer to collections (gRFC A95). */
  readonly endpointCollection?: ResourceType<EndpointCollection>;
}

/** What a manager is made of. */
export interface DependencyManagerOptions {
  readonly source: ResourceSource;
  readonly types: ClientResourceTypes;
  readonly dns: DnsWatcherFactory;
  /** Full resource name. */
  readonly listenerName: string;
  /** The data-plane authority, by which the virtual host is chosen. */
  readonly host: string;
  /** Says which client is asking, such as `xDS node "n1"`; appended to errors. */
  readonly clientNote: string;
  readonly limits: Pick<Limits, 'maxClustersPerTarget'>;
  readonly logger: Logger;
  /** Told of each new config, or of why the target cannot be used. Called from the source's queue. */
  readonly onUpdate: (update: Result<XdsConfig, string>) => void;
}

type Watches<K, T> = WatchSet<K, Observed<T>>;

/**
 * Watches everything one target depends on and publishes one consistent config at a time (gRFC A74). Watch
 * callbacks only record; `nextBuild` decides, once for everything that was recorded in one go.
 */
export class XdsDependencyManager implements ClusterSubscriber {
  private readonly listeners: Watches<string, ListenerResource>;
  private readonly routeConfigs: Watches<string, RouteConfigResource>;
  private readonly clusters: Watches<string, ClusterResource>;
  private readonly endpoints: Watches<string, EndpointsResource>;
  private readonly dns: Watches<DnsTarget, EndpointsResource>;
  private readonly dnsWatches = new Set<DnsWatch>();
  /** Holders per subscribed cluster. */
  private readonly subscribed = new Map<string, number>();
  private published: Result<XdsConfig, string> | undefined;
  /** The last config, kept over an error so that what did not change keeps its identity. */
  private latestConfig: XdsConfig | undefined;
  private lastBuild: BuildResult | undefined;
  /** What happened since. */
  private readonly changes = new ChangeLog();
  /** The watches behind what was published last. */
  private neededByConfig: NeededWatches | undefined;
  private rebuildQueued = false;
  private closed = false;

  constructor(private readonly options: DependencyManagerOptions) {
    const { types, source } = options;
    const { changes } = this;
    const watchOf =
      <T>(type: ResourceType<T>): WatchResource<T> =>
      (name, watcher) =>
        source.watch(type, name, watcher);
    const { endpoints, endpointCollection } = types;
    const watchEndpoints =
      endpointCollection === undefined
        ? watchOf(endpoints)
        : watchWithCollections(source, endpoints, endpointCollection);
    this.listeners = this.watchesOf(watchOf(types.listener), () => changes.addOther());
    this.routeConfigs = this.watchesOf(watchOf(types.routeConfig), () => changes.addOther());
    this.clusters = this.watchesOf(watchOf(types.cluster), (name) => changes.add('clusters', name));
    this.endpoints = this.watchesOf(watchEndpoints, (name) => changes.add('endpoints', name));
    this.dns = this.dnsWatchesOf();
  }

  /** Begins watching. */
  start(): void {
    this.options.source.run(() => {
      if (!this.closed) this.listeners.reconcile(new Set([this.options.listenerName]));
    });
  }

  /** Ends every watch. No update is published afterwards. */
  close(): void {
    this.closed = true;
    this.options.source.run(() => {
      for (const watches of this.allWatches()) watches.clear();
    });
  }

  subscribeCluster(name: string): Handle {
    this.subscribed.set(name, (this.subscribed.get(name) ?? 0) + 1);
    if (this.latestConfig?.clusters.has(name) !== true) this.onSubscribedChanged();
    return createHandle(() => this.unsubscribeCluster(name));
  }

  requestReresolution(): void {
    for (const watch of this.dnsWatches) watch.requestReresolution();
  }

  private unsubscribeCluster(name: string): void {
    const holders = (this.subscribed.get(name) ?? 0) - 1;
    if (holders > 0) {
      this.subscribed.set(name, holders);
      return;
    }
    this.subscribed.delete(name);
    // Of no consequence while the routes name the cluster anyway.
    const virtualHost = this.latestConfig?.virtualHost;
    if (virtualHost !== undefined && referencedClusters(virtualHost).has(name)) return;
    this.onSubscribedChanged();
  }

  private onSubscribedChanged(): void {
    this.changes.addOther();
    this.queueRebuild();
  }

  /** One rebuild for however much was recorded in the current run of the queue. */
  private queueRebuild(): void {
    if (this.rebuildQueued || this.closed) return;
    this.rebuildQueued = true;
    this.options.source.run(() => {
      this.rebuildQueued = false;
      if (!this.closed) this.rebuild();
    });
  }

  private rebuild(): void {
    const { listenerName, host, clientNote, limits } = this.options;
    const build = nextBuild(this.lastBuild, this.changes.take(), {
      listenerName,
      host,
      clientNote,
      maxClusters: limits.maxClustersPerTarget,
      subscribed: this.subscribed.keys(),
      previous: this.latestConfig,
      observed: {
        listener: this.listeners.get(listenerName) ?? waiting,
        routeConfig: (name) => this.routeConfigs.get(name),
        cluster: (name) => this.clusters.get(name),
        endpoints: (name) => this.endpoints.get(name),
        dns: (key) => this.dns.get(key),
      },
    });
    this.reportRejection(build);
    this.lastBuild = build;
    const { needed, outcome } = build;
    // While something is still missing the old config stays in use, and so do its watches.
    if (outcome.kind === 'incomplete') {
      this.reconcile(needed, this.neededByConfig);
      return;
    }
    this.reconcile(needed, undefined);
    this.neededByConfig = needed;
    this.publish(outcome.kind === 'config' ? ok(outcome.config) : err(outcome.message));
  }

  private reportRejection({ rejection }: BuildResult): void {
    if (rejection === undefined || rejection === this.lastBuild?.rejection) return;
    this.options.logger.error(() => `${rejection}; the last routes stay in use`);
  }

  /** @param kept What else stays watched, if it is. */
  private reconcile(needed: NeededWatches, kept: NeededWatches | undefined): void {
    this.routeConfigs.reconcile(needed.routeConfigs, kept?.routeConfigs);
    this.clusters.reconcile(needed.clusters, kept?.clusters);
    this.endpoints.reconcile(needed.endpoints, kept?.endpoints);
    this.dns.reconcile(needed.dns, kept?.dns);
  }

  private publish(update: Result<XdsConfig, string>): void {
    const { published } = this;
    const same =
      published !== undefined &&
      (update.ok
        ? published.ok && published.value === update.value
        : !published.ok && published.error === update.error);
    if (same) return;
    if (update.ok) this.latestConfig = update.value;
    // Counts as published only once it was received: if the receiver throws, the next rebuild publishes it again.
    this.published = undefined;
    this.options.onUpdate(update);
    this.published = update;
  }

  private watchesOf<T>(
    watch: WatchResource<T>,
    noteChange: (name: string) => void,
  ): Watches<string, T> {
    return createResourceWatches(watch, (name) => {
      noteChange(name);
      this.queueRebuild();
    });
  }

  private dnsWatchesOf(): Watches<DnsTarget, EndpointsResource> {
    return new WatchSet<DnsTarget, Observed<EndpointsResource>>(
      waiting,
      (_name, target, report) => {
        const watch = this.options.dns.start(target, (result) =>
          this.options.source.run(() => report((before) => nextDnsObservation(before, result))),
        );
        this.dnsWatches.add(watch);
        return createHandle(() => {
          this.dnsWatches.delete(watch);
          watch.release();
        });
      },
      (name) => {
        this.changes.add('dns', name);
        this.queueRebuild();
      },
    );
  }

  private allWatches(): readonly { clear(): void }[] {
    return [this.listeners, this.routeConfigs, this.clusters, this.endpoints, this.dns];
  }
}

/** An error after a result leaves the result in use (gRFC A37). */
function nextDnsObservation(
  before: Observed<EndpointsResource>,
  result: Result<EndpointsResource, string>,
): Observed<EndpointsResource> {
  if (result.ok) return { kind: 'value', value: result.value, ambient: undefined };
  const error = { kind: 'unreachable', message: result.error } as const;
  return before.kind === 'value' ? { ...before, ambient: error } : { kind: 'error', error };
}
