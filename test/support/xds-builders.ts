// Validated resources, as the parsers would return them, with everything a test does not care about filled in.

import { WrrLocalityConfig } from '../../src/lb/wrr-locality/config';
import type { ClusterDiscovery, ClusterResource } from '../../src/resources/cluster/cluster';
import {
  noMetadata,
  type EndpointsResource,
  type LocalityEndpoints,
} from '../../src/resources/endpoints/endpoints';
import type { CompiledRegex } from '../../src/resources/extension-points';
import type {
  HttpConnectionManager,
  ApiListener,
  SocketListener,
} from '../../src/resources/listener/listener';
import type {
  ClusterSpecifier,
  Route,
  RouteAction,
  RouteConfigResource,
  RouteMatch,
  VirtualHost,
} from '../../src/resources/route-config/route-config';
import { clustersOf } from '../../src/resources/route-config/virtual-host-parser';
import type { WatchError } from '../../src/xds-client/resource-watcher';

/** A cluster with its weight; a name alone weighs 1. */
export type Weighted = string | readonly [name: string, weight: number];
type ForwardAction = Extract<RouteAction, { kind: 'forward' }>;

/** An API listener that takes its routes from RDS under `<name>-routes`, unless told otherwise. */
export function listener(name: string, change: Partial<HttpConnectionManager> = {}): ApiListener {
  return {
    kind: 'api',
    name,
    httpConnectionManager: {
      routes: { kind: 'rds', routeConfigName: `${name}-routes` },
      httpFilters: [],
      maxStreamDurationMs: undefined,
      ...change,
    },
  };
}

/** An API listener that has its routes in itself. */
export function inlineListener(name: string, routes: RouteConfigResource): ApiListener {
  return listener(name, { routes: { kind: 'inline', routeConfig: routes } });
}

/** A listener for a server. */
export function socketListener(name: string, change: Partial<SocketListener> = {}): SocketListener {
  return {
    kind: 'socket',
    name,
    address: { host: '10.0.0.1', port: 8080 },
    isTcp: true,
    filterChains: [],
    defaultFilterChain: undefined,
    unmatchable: [],
    encoded: Buffer.from(name),
    ...change,
  };
}

/** A route configuration. */
export function routeConfig(
  name: string,
  ...virtualHosts: readonly VirtualHost[]
): RouteConfigResource {
  return { name, virtualHosts };
}

/** A virtual host for every domain, unless told otherwise. */
export function virtualHost(
  routes: readonly Route[],
  change: Partial<Omit<VirtualHost, 'routes' | 'clusters'>> = {},
): VirtualHost {
  return {
    name: 'all',
    domains: ['*'],
    retryPolicy: undefined,
    filterOverrides: new Map(),
    regexes: [],
    ...change,
    routes: routes.map((each, index) => (each.index === index ? each : { ...each, index })),
    clusters: clustersOf(routes),
  };
}

/** A route for every call, unless told otherwise. It has its index in a virtual host. */
export function route(action: RouteAction, match: Partial<RouteMatch> = {}): Route {
  return {
    index: 0,
    name: '',
    match: {
      path: { kind: 'prefix', text: '', caseSensitive: true },
      headers: [],
      fractionPerMillion: undefined,
      ...match,
    },
    action,
    filterOverrides: new Map(),
  };
}

/** The action of a route to a cluster, or to one of several by weight. */
export function forwardTo(
  target: string | readonly Weighted[],
  change: Partial<Omit<ForwardAction, 'clusters'>> = {},
): ForwardAction {
  return {
    kind: 'forward',
    maxStreamDurationMs: undefined,
    retryPolicy: undefined,
    hashPolicies: [],
    hostRewrite: undefined,
    ...change,
    clusters: typeof target === 'string' ? { kind: 'cluster', name: target } : weighted(...target),
  };
}

/** Clusters by weight, as they are read: those without one are known by name. */
export function weighted(...clusters: readonly Weighted[]): ClusterSpecifier {
  const all = clusters.map((each) => (typeof each === 'string' ? ([each, 1] as const) : each));
  const drawn = all.filter(([, weight]) => weight > 0);
  return {
    kind: 'weighted',
    clusters: drawn.map(([name, weight]) => ({ name, weight, filterOverrides: new Map() })),
    totalWeight: drawn.reduce((sum, [, weight]) => sum + weight, 0),
    zeroWeight: all.flatMap(([name, weight]) => (weight === 0 ? [name] : [])),
  };
}

/** A virtual host whose only route goes to the cluster or clusters. */
export function virtualHostTo(target: string | readonly Weighted[]): VirtualHost {
  return virtualHost([route(forwardTo(target))]);
}

/** An EDS cluster whose endpoints go by its own name, unless told otherwise. */
export function edsCluster(name: string, serviceName = ''): ClusterResource {
  const edsResourceName = serviceName === '' ? name : serviceName;
  return cluster(name, { kind: 'eds', edsResourceName, serviceName });
}

/** A cluster that is resolved through DNS. */
export function dnsCluster(name: string, host: string, port: number): ClusterResource {
  return cluster(name, { kind: 'logical-dns', host, port });
}

/** A cluster made of others. */
export function aggregateCluster(name: string, ...clusters: readonly string[]): ClusterResource {
  return cluster(name, { kind: 'aggregate', clusters });
}

function cluster(name: string, discovery: ClusterDiscovery): ClusterResource {
  return {
    name,
    discovery,
    // What a cluster has whose resource names no policy.
    lbConfig: new WrrLocalityConfig({ policyName: 'round_robin' }),
    lrsServer: undefined,
    lrsReportEndpointMetrics: [],
    maxRequests: 1024,
    outlierDetection: undefined,
    overrideHostStatuses: new Set(['UNKNOWN', 'HEALTHY']),
    connectionIdleTimeoutMs: 3_600_000,
    tls: undefined,
  };
}

/** Endpoints in one locality of one priority. */
export function endpoints(name: string, ...hosts: readonly string[]): EndpointsResource {
  const locality: LocalityEndpoints = {
    locality: { region: 'r', zone: 'z', subZone: '' },
    weight: 1,
    endpoints: hosts.map((host) => ({
      addresses: [{ host, port: 80 }],
      weight: 1,
      health: 'UNKNOWN',
      hostname: '',
      hashKey: undefined,
      metadata: noMetadata,
    })),
  };
  return { clusterName: name, priorities: [{ localities: [locality] }], drops: [] };
}

/** Why a resource cannot be had. */
export function xdsError(message: string, kind: WatchError['kind'] = 'does-not-exist'): WatchError {
  return { kind, message };
}

/** A pattern that must match the whole text. The grammar is JavaScript's, which is enough here. */
export function regex(pattern: string): CompiledRegex {
  const whole = new RegExp(`^(?:${pattern})$`);
  return {
    pattern,
    size: pattern.length,
    matches: (text) => whole.test(text),
    replaceAll: (text, substitution, maxLength) =>
      text.replaceAll(new RegExp(pattern, 'g'), substitution).slice(0, maxLength),
  };
}
