import { FixedKeysMap } from '../util/fixed-keys-map';
import { buildCluster, type ClusterResult, type ClusterSource } from './build-cluster';
import { findRoutes, type FoundRoutes } from './find-routes';
import type { DnsTarget, NeededWatches, Observations } from './observations';
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
  if (!found?.ok) {
    const needed = { routeConfigs, clusters: new Set<string>(), endpoints: new Set<string>() };
    return {
      needed: { ...needed, dns: new Map() },
      outcome:
        found === undefined ? { kind: 'incomplete' } : { kind: 'error', message: found.error },
      trail: undefined,
    };
  }
  const walk = new ClusterWalk(input, found.value);
  const { sources, users, dns } = walk;
  const clusters = new Set(sources.keys());
  const trail: BuildTrail = { routes: found.value, sources, results: walk.results(), users };
  return {
    needed: { routeConfigs, clusters, endpoints: new Set(users.endpoints.keys()), dns },
    outcome: outcomeOf(trail, input.previous),
    trail,
  };
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

/** The walk from the routes on. */
class ClusterWalk {
  readonly sources = new Map<string, ClusterSource>();
  readonly users = {
    endpoints: new Map<string, string[]>(),
    dns: new Map<string, string[]>(),
  };
  readonly dns = new Map<string, DnsTarget>();
  private readonly built = new Map<string, ClusterResult>();

  constructor({ observed, subscribed, previous, clientNote }: BuildInput, routes: FoundRoutes) {
    const context = {
      observed,
      clientNote,
      ambient: routes.ambient,
      previous: (name: string) => previous?.clusters.get(name),
    };
    const pending = [...referencedClusters(routes.config.virtualHost), ...subscribed];
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (this.sources.has(name)) continue;
      const { source, result } = buildCluster(name, context);
      this.sources.set(name, source);
      if (result !== undefined) this.built.set(name, result);
      if (source.kind === 'aggregate') pending.push(...source.clusters);
      this.noteUser(name, source);
    }
  }

  results(): FixedKeysMap<string, ClusterResult> {
    return FixedKeysMap.of(this.sources.keys(), this.built);
  }

  private noteUser(cluster: string, source: ClusterSource): void {
    if (source.kind === 'eds') {
      addTo(this.users.endpoints, source.name, cluster);
    } else if (source.kind === 'dns') {
      this.dns.set(source.key, source.target);
      addTo(this.users.dns, source.key, cluster);
    }
  }
}

function addTo(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function sameEntries<V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}
