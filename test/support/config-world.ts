// What the watches of a dependency manager have reported, the config that follows from it, and a plain walk over the same.

import { buildXdsConfig, type BuiltXdsConfig } from '../../src/dependency-manager/build-xds-config';
import {
  dnsTargetKey,
  waiting,
  type DnsTarget,
  type NeededWatches,
  type WatchReport,
} from '../../src/dependency-manager/observations';
import { findVirtualHost } from '../../src/routing/virtual-host';
import type { ClusterResult, XdsConfig } from '../../src/dependency-manager/xds-config';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import {
  describeEmptyLocalities,
  type EndpointsResource,
} from '../../src/resources/endpoints/endpoints';
import type { ApiListener, ListenerResource } from '../../src/resources/listener/listener';
import type {
  RouteConfigResource,
  VirtualHost,
} from '../../src/resources/route-config/route-config';
import { err, ok } from '../../src/util/result';
import type { WatchError } from '../../src/xds-client/resource-watcher';
import { listener, routeConfig, virtualHostTo, xdsError } from './xds-builders';

const NOTE = 'xDS node "n1"';
const NO_VIRTUAL_HOST =
  'RouteConfiguration "svc-routes" has no virtual host for "svc" (xDS node "n1"): ' +
  'add it to the domains of one, or set the channel option grpc.default_authority';

/** A value in use, with what is wrong beside it. */
export function value<T>(
  of: T,
  ambientMessage?: string,
): Extract<WatchReport<T>, { kind: 'value' }> {
  const ambient = ambientMessage === undefined ? undefined : xdsError(ambientMessage, 'invalid');
  return { kind: 'value', value: of, ambient };
}

/** A resource without a value. */
export function failure(message: string): WatchReport<never> {
  return { kind: 'error', error: xdsError(message) };
}

/** The reports of the watches of one target, and the config that is built again after some of them changed. */
export class ConfigWorld {
  listener: WatchReport<ListenerResource> = value(listener('svc'));
  routes: WatchReport<RouteConfigResource> = waiting;
  subscribed: readonly string[] = [];
  readonly clusters = new Map<string, WatchReport<ClusterResource>>();
  readonly endpoints = new Map<string, WatchReport<EndpointsResource>>();
  readonly dns = new Map<string, WatchReport<EndpointsResource>>();
  private built: BuiltXdsConfig | undefined;

  /** Builds the config of the reports, as the next one after the last call. */
  build(): BuiltXdsConfig {
    const inputs = {
      listenerName: 'svc',
      host: 'svc',
      clientNote: NOTE,
      maxClusters: 100,
      subscribed: this.subscribed,
      acceptPart: false,
      nowMs: 0,
      observed: {
        listener: this.listener,
        routeConfigs: { get: () => this.routes },
        clusters: this.clusters,
        endpoints: this.endpoints,
        dns: this.dns,
      },
    };
    this.built = buildXdsConfig(inputs, this.built);
    return this.built;
  }

  /** A target with a route to each of the clusters. */
  static of(...clusters: readonly string[]): ConfigWorld {
    const world = new ConfigWorld();
    world.routeTo(clusters);
    return world;
  }

  routeTo(clusters: readonly string[]): void {
    const weighted = clusters.map((name) => [name, 1] as const);
    this.setRoutes(value(routeConfig('svc-routes', virtualHostTo(weighted))));
  }

  setRoutes(observed: WatchReport<RouteConfigResource>): this {
    this.routes = observed;
    return this;
  }

  setHosts(...virtualHosts: readonly VirtualHost[]): this {
    return this.setRoutes(value(routeConfig('svc-routes', ...virtualHosts)));
  }

  setCluster(name: string, observed: WatchReport<ClusterResource>): this {
    this.clusters.set(name, observed);
    return this;
  }

  setEndpoints(name: string, observed: WatchReport<EndpointsResource>): this {
    this.endpoints.set(name, observed);
    return this;
  }

  setDns(key: string, observed: WatchReport<EndpointsResource>): this {
    this.dns.set(key, observed);
    return this;
  }
}

/** What a target has: a config, an error, or nothing yet. */
export type Outcome =
  | { readonly kind: 'config'; readonly config: XdsConfig }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'incomplete' };

export function outcomeOf({ config }: BuiltXdsConfig): Outcome {
  if (config === undefined) return { kind: 'incomplete' };
  if (!config.ok) return { kind: 'error', message: config.error.message };
  return { kind: 'config', config: config.value };
}

/** Returns the config that was built. @throws if there is none. */
export function configOf(built: BuiltXdsConfig): XdsConfig {
  if (built.config?.ok !== true)
    throw new Error(`There is no config: ${built.config?.error.message}`);
  return built.config.value;
}

/** The result of a walk from the listener, over everything, without knowledge of any walk before. */
export interface WalkResult {
  readonly needed: NeededWatches;
  readonly outcome: Outcome;
  /** The clusters that have a result, aggregates whether or not their clusters have one. */
  readonly built: ReadonlyMap<string, ClusterResult>;
  /** The clusters to which the latest routes lead. */
  readonly routed: ReadonlySet<string>;
}

/** Walks from the listener to the endpoints as gRFC A74 says it, the long way: the oracle of `buildXdsConfig`. */
export function fullWalk(world: ConfigWorld): WalkResult {
  const walk = new FullWalk(world);
  return { outcome: walk.outcome(), needed: walk, built: walk.built, routed: walk.routed };
}

class FullWalk implements NeededWatches {
  readonly routeConfigs = new Set<string>();
  readonly clusters = new Set<string>();
  readonly endpoints = new Set<string>();
  readonly dns = new Map<string, DnsTarget>();

  constructor(private readonly world: ConfigWorld) {}

  /** The clusters with a result, as far as the last walk has come. */
  readonly built = new Map<string, ClusterResult>();
  routed: ReadonlySet<string> = new Set();

  outcome(): Outcome {
    const { listener: observed } = this.world;
    if (observed.kind === 'waiting') return { kind: 'incomplete' };
    if (observed.kind === 'error') return { kind: 'error', message: observed.error.message };
    if (observed.value.kind !== 'api') return { kind: 'error', message: 'not an API' };
    this.routeConfigs.add('svc-routes');
    const { routes } = this.world;
    if (routes.kind === 'waiting') return { kind: 'incomplete' };
    if (routes.kind === 'error') return { kind: 'error', message: routes.error.message };
    const virtualHost = findVirtualHost(routes.value.virtualHosts, 'svc');
    if (virtualHost === undefined) return { kind: 'error', message: NO_VIRTUAL_HOST };
    const ambient = [observed.ambient, routes.ambient].filter((error) => error !== undefined);
    return this.outcomeOf(observed.value, routes.value, virtualHost, ambient);
  }

  private outcomeOf(
    api: ApiListener,
    routes: RouteConfigResource,
    virtualHost: VirtualHost,
    ambient: readonly WatchError[],
  ): Outcome {
    this.routed = new Set(this.reachable(virtualHost, []));
    for (const name of this.reachable(virtualHost, this.world.subscribed)) this.clusters.add(name);
    const { built: clusters } = this;
    for (const name of this.clusters) {
      const result = this.build(name, ambient);
      if (result !== undefined) clusters.set(name, result);
    }
    if (clusters.size < this.clusters.size) return { kind: 'incomplete' };
    const config = { listener: api, routeConfig: routes, virtualHost, clusters };
    return { kind: 'config', config };
  }

  private *reachable({ routes }: VirtualHost, subscribed: readonly string[]): Iterable<string> {
    const names = new Set(subscribed);
    for (const { action } of routes) {
      if (action.kind !== 'forward') continue;
      if (action.clusters.kind !== 'weighted') names.add(action.clusters.name);
      else for (const { name } of action.clusters.clusters) names.add(name);
    }
    // A set is iterated together with what is added meanwhile.
    for (const name of names) {
      yield name;
      for (const child of this.childrenOf(name) ?? []) names.add(child);
    }
  }

  private childrenOf(name: string): readonly string[] | undefined {
    const observed = this.world.clusters.get(name);
    if (observed?.kind !== 'value') return undefined;
    const { discovery } = observed.value;
    return discovery.kind === 'aggregate' ? discovery.clusters : undefined;
  }

  /** Returns the leaf clusters below a cluster, depth first, each at its first place (gRFC A37). */
  private leavesOf(name: string, visited: Set<string>): readonly string[] {
    if (visited.has(name)) return [];
    visited.add(name);
    const children = this.childrenOf(name);
    return children?.flatMap((child) => this.leavesOf(child, visited)) ?? [name];
  }

  private build(name: string, ambient: readonly WatchError[]): ClusterResult | undefined {
    const observed = this.world.clusters.get(name);
    if (observed === undefined || observed.kind === 'waiting') return undefined;
    if (observed.kind === 'error') return err(observed.error);
    const { value: resource, ambient: own } = observed;
    const { discovery } = resource;
    if (discovery.kind === 'aggregate') {
      const leaves = this.leavesOf(name, new Set());
      if (leaves.length === 0) {
        return err({
          kind: 'invalid',
          message: `aggregate cluster "${name}" leads to no leaf cluster (${NOTE})`,
        });
      }
      return ok({ resource, children: { kind: 'aggregate', leafClusters: leaves } });
    }
    let source: WatchReport<EndpointsResource> | undefined;
    if (discovery.kind === 'eds') {
      this.endpoints.add(discovery.edsResourceName);
      source = this.world.endpoints.get(discovery.edsResourceName);
    } else {
      this.dns.set(dnsTargetKey(discovery), discovery);
      source = this.world.dns.get(dnsTargetKey(discovery));
    }
    return buildLeaf(resource, source, own === undefined ? ambient : [...ambient, own]);
  }
}

function buildLeaf(
  resource: ClusterResource,
  source: WatchReport<EndpointsResource> | undefined,
  errors: readonly WatchError[],
): ClusterResult | undefined {
  if (source === undefined || source.kind === 'waiting') return undefined;
  const own = source.kind === 'error' ? source.error : source.ambient;
  const texts = [...errors, ...(own === undefined ? [] : [own])].map(({ message }) => message);
  const endpoints = source.kind === 'value' ? source.value : undefined;
  const note = texts.length === 0 ? NOTE : texts.join('; ');
  const empty = endpoints && describeEmptyLocalities(endpoints);
  const resolutionNote = empty === undefined ? note : `${empty}; ${note}`;
  return ok({ resource, children: { kind: 'endpoints', endpoints, resolutionNote } });
}

/** A config that was built or walked, as plain data. */
export function describeConfig({ needed, outcome }: Pick<WalkResult, 'needed' | 'outcome'>) {
  const names = {
    routeConfigs: [...needed.routeConfigs],
    clusters: [...needed.clusters].sort(),
    endpoints: [...needed.endpoints].sort(),
    dns: [...needed.dns].sort(([a], [b]) => (a < b ? -1 : 1)),
  };
  if (outcome.kind !== 'config') return { names, outcome };
  const { clusters, ...rest } = outcome.config;
  return {
    names,
    config: { ...rest, clusters: [...clusters].sort(([a], [b]) => (a < b ? -1 : 1)) },
  };
}
