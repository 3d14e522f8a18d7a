import type { FixedKeysMap } from '../util/fixed-keys-map';
import type { ClusterResult, ClusterSource } from './build-cluster';
import { checkClusterCount, ClusterAdmission } from './cluster-admission';
import { ClusterWalk } from './cluster-walk';
import { findRoutes, type FoundRoutes } from './find-routes';
import type { NeededWatches, Observations } from './observations';
import { referencedClusters } from './referenced-clusters';
import type { XdsConfig } from './xds-config';

/** What the walk starts from. */
export interface BuildInput {
  readonly listenerName: string;
  /** The data-plane authority, by which the virtual host is chosen. */
  readonly host: string;
  /** Clusters wanted besides those the routes name (gRFC A74). */
  readonly subscribed: Iterable<string>;
  readonly observed: Observations;
  /** The last config, whose unchanged parts are used again. */
  readonly previous: XdsConfig | undefined;
  /** Says which client is asking; part of every error and note, such as `xDS node "n1"`. */
  readonly clientNote: string;
  /** `Limits.maxClustersPerTarget`. */
  readonly maxClusters: number;
}

/** What the walk came to. */
export type BuildOutcome =
  | { readonly kind: 'config'; readonly config: XdsConfig }
  /** The target cannot be used at all. */
  | { readonly kind: 'error'; readonly message: string }
  /** Something the walk came by has been neither received nor given up. */
  | { readonly kind: 'incomplete' };

/** The one decision about a target's configuration. */
export interface BuildResult {
  readonly needed: NeededWatches;
  readonly outcome: BuildOutcome;
  /** The way the walk took among the clusters; `undefined` if it did not get there. */
  readonly trail: BuildTrail | undefined;
  /** Why the routes of the last config stay in use, if the new ones name too many clusters. */
  readonly rejection?: string | undefined;
}

/** What the walk came by, so that it need not be walked again when little has changed. */
export interface BuildTrail {
  readonly routes: FoundRoutes;
  /** Every cluster, and where the walk went from it. */
  readonly sources: ReadonlyMap<string, ClusterSource>;
  /** The clusters that are not awaited. */
  readonly results: FixedKeysMap<string, ClusterResult>;
  readonly users: EndpointUsers;
}

/** Which clusters have their endpoints from where. */
export interface EndpointUsers {
  /** By name of the EDS resource. */
  readonly endpoints: ReadonlyMap<string, readonly string[]>;
  /** By `dnsTargetKey`. */
  readonly dns: ReadonlyMap<string, readonly string[]>;
}

/**
 * Walks from the listener to the endpoints, once: notes everything it comes by and, when all of that has a
 * value or an error, returns the config (gRFC A74). Pure. Cluster problems stay local to the cluster; only a
 * missing listener, route configuration or virtual host makes the whole an error.
 */
export function buildXdsConfig(input: BuildInput): BuildResult {
  const { routeConfigName, found } = findRoutes(input);
  const routeConfigs = new Set(routeConfigName === undefined ? [] : [routeConfigName]);
  if (!found?.ok) return withoutClusters(routeConfigs, found?.error);
  const { rejection, routes } = admitRoutes(found.value, input);
  if (routes === undefined) return withoutClusters(routeConfigs, rejection);
  const { subscribed, maxClusters, previous, observed, clientNote } = input;
  const fromRoutes = referencedClusters(routes.config.virtualHost);
  const walk = new ClusterWalk(
    {
      ...{ observed, clientNote, ambient: routes.ambient },
      previous: (name) => previous?.clusters.get(name),
    },
    new ClusterAdmission(fromRoutes, subscribed, maxClusters),
  );
  const { sources, users, dns } = walk;
  const clusters = new Set(sources.keys());
  const trail: BuildTrail = { routes, sources, results: walk.results(), users };
  return {
    needed: { routeConfigs, clusters, endpoints: new Set(users.endpoints.keys()), dns },
    outcome: outcomeOf(trail, previous),
    trail,
    rejection,
  };
}

/** What the walk comes to if it does not get beyond the routes. */
function withoutClusters(
  routeConfigs: ReadonlySet<string>,
  error: string | undefined,
): BuildResult {
  const none = new Set<string>();
  return {
    needed: { routeConfigs, clusters: none, endpoints: none, dns: new Map() },
    outcome: error === undefined ? { kind: 'incomplete' } : { kind: 'error', message: error },
    trail: undefined,
  };
}

/** The routes found or, if those name too many clusters, the ones in use; `routes` is absent if there are none. */
function admitRoutes(
  found: FoundRoutes,
  { previous, maxClusters, clientNote }: BuildInput,
): { readonly routes?: FoundRoutes; readonly rejection?: string } {
  const { routeConfig, virtualHost } = found.config;
  const problem = checkClusterCount(routeConfig.name, referencedClusters(virtualHost), maxClusters);
  if (problem === undefined) return { routes: found };
  const rejection = `${problem} (${clientNote})`;
  if (previous === undefined) return { rejection };
  const ambient = [...found.ambient, { kind: 'invalid', message: rejection } as const];
  return { routes: { config: previous, ambient }, rejection };
}

/** The config, if every cluster has been settled; the previous one itself when nothing in it changed. */
export function outcomeOf(
  { routes, sources, results }: BuildTrail,
  previous: XdsConfig | undefined,
): BuildOutcome {
  if (results.size < sources.size) return { kind: 'incomplete' };
  const clusters =
    previous !== undefined && sameEntries(previous.clusters, results) ? previous.clusters : results;
  const { listener, routeConfig, virtualHost } = routes.config;
  const same =
    previous?.listener === listener &&
    previous.routeConfig === routeConfig &&
    previous.virtualHost === virtualHost &&
    previous.clusters === clusters;
  return { kind: 'config', config: same ? previous : { ...routes.config, clusters } };
}

function sameEntries<V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}
