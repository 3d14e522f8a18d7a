import type { ClusterResource } from '../resources/cluster/cluster';
import type { EndpointsResource } from '../resources/endpoints/endpoints';
import type { ApiListener } from '../resources/listener/listener';
import type { RouteConfigResource, VirtualHost } from '../resources/route-config/route-config';
import type { Handle } from '../util/handle';
import type { Result } from '../util/result';
import type { WatchError } from '../xds-client/resource-watcher';

/** The endpoints or leaf clusters of a cluster. */
export type ClusterChildren =
  | {
      readonly kind: 'endpoints';
      /** `undefined` if there are none; `resolutionNote` has the reason. */
      readonly endpoints: EndpointsResource | undefined;
      /** The text that failed picks end with: the errors of the sources of this cluster, or else the management servers and the node (gRFC A88). */
      readonly resolutionNote: string;
    }
  /** Leaves in order of priority, without duplicates; each is in `XdsConfig.clusters` too (gRFC A75). */
  | {
      readonly kind: 'aggregate';
      readonly leafClusters: readonly string[];
      /** Why these are the leaves of an earlier version, if the current one is rejected. */
      readonly rejection?: string | undefined;
    };

/** One usable cluster. */
export interface ClusterConfig {
  readonly resource: ClusterResource;
  readonly children: ClusterChildren;
}

/** A usable cluster, or its error. */
export type ClusterResult = Result<ClusterConfig, WatchError>;

/**
 * The consistent configuration of one target (gRFC A74). Immutable; an update shares every unchanged part, so consumers
 * compare with `===`.
 */
export interface XdsConfig {
  readonly listener: ApiListener;
  readonly routeConfig: RouteConfigResource;
  readonly virtualHost: VirtualHost;
  /**
   * The clusters of routes, aggregates and subscriptions; the error is in the status of failed calls. Those of a first config
   * and of subscriptions may be added later: see `ClusterStore.describeWait`.
   */
  readonly clusters: ReadonlyMap<string, ClusterResult>;
}

/** The clusters of one target, as load-balancing policies use them: the config in use and its changes. */
export interface ClusterStore {
  /** Returns a cluster of the last config, also after the target has failed; `undefined` if it is not part of it. */
  cluster(name: string): ClusterResult | undefined;
  /**
   * Calls a watcher after each config in which the cluster differs from the one before, until released. A watcher
   * watches a cluster once.
   */
  watchCluster(name: string, watcher: ClusterWatcher): Handle;
  /** Keeps a cluster in the config that no route names (gRFC A74 dynamic clusters), until released. */
  subscribeCluster(name: string): Handle;
  /**
   * Returns what a cluster waits for that is not part of the config in use yet, as a sentence; `undefined` if it does not wait.
   */
  describeWait(name: string): string | undefined;
  /** Returns the resource of a cluster, also of one whose endpoints are pending; `undefined` if there is none. */
  resource(name: string): Result<ClusterResource, string> | undefined;
  /** Receives changes as soon as possible until the handle is released, such as while all endpoints of a cluster fail. */
  hurry(): Handle;
  /** Requests that every DNS cluster of the target is resolved again. */
  requestReresolution(): void;
}

/** Watches one cluster of a target. */
export interface ClusterWatcher {
  /** Runs a task with everything it causes. All watchers of one config are called in one task of it. */
  readonly batch: { run(task: () => void): void };
  /** The cluster was changed, added or removed: see `ClusterStore.cluster`. */
  onClusterChanged(): void;
}
