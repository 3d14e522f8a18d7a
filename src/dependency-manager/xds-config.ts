import type { ClusterResource } from '../resources/cluster';
import type { EndpointsResource } from '../resources/endpoints';
import type { ListenerResource } from '../resources/listener';
import type { RouteConfigResource, VirtualHost } from '../resources/route-config';
import { FixedKeysMap } from '../util/fixed-keys-map';
import type { Handle } from '../util/handle';
import type { Result } from '../util/result';

/** A listener that can serve a client. */
export type ApiListener = Extract<ListenerResource, { kind: 'api-listener' }>;

/** What a cluster consists of. */
export type ClusterChildren =
  | {
      readonly kind: 'endpoints';
      /** `undefined` when there are none and `resolutionNote` says why. */
      readonly endpoints: EndpointsResource | undefined;
      /** For failed picks: what is wrong with the sources of this cluster, or else which client it is (gRFC A88). */
      readonly resolutionNote: string;
    }
  /** Leaves in order of priority, without duplicates; each is in `XdsConfig.clusters` too (gRFC A75). */
  | { readonly kind: 'aggregate'; readonly leafClusters: readonly string[] };

/** One usable cluster. */
export interface ClusterConfig {
  readonly resource: ClusterResource;
  readonly children: ClusterChildren;
}

/**
 * Everything one target needs, consistent in itself (gRFC A74). Immutable; an update shares every part that
 * did not change, so consumers compare with `===`.
 */
export interface XdsConfig {
  readonly listener: ApiListener;
  readonly routeConfig: RouteConfigResource;
  readonly virtualHost: VirtualHost;
  /** Every cluster that a route, an aggregate or a subscription names; the error is what failed calls say. */
  readonly clusters: ReadonlyMap<string, Result<ClusterConfig, string>>;
}

/**
 * The names of the clusters in which a config differs from an earlier one; `undefined` if it would take going
 * through all of them to tell.
 */
export function changedClusters(
  before: XdsConfig,
  after: XdsConfig,
): readonly string[] | undefined {
  if (after.clusters === before.clusters) return [];
  return after.clusters instanceof FixedKeysMap
    ? after.clusters.keysSetSince(before.clusters)
    : undefined;
}

/** Keeps clusters in the config that no route names (gRFC A74 dynamic clusters). */
export interface ClusterSubscriber {
  /** Holds the cluster in the config until released. */
  subscribeCluster(name: string): Handle;
  /** Asks every DNS cluster of the target to resolve again. */
  requestReresolution(): void;
}
