import type { ClusterResource } from '../resources/cluster';
import type { EndpointsResource } from '../resources/endpoints';
import type { RouteConfigResource, VirtualHost } from '../resources/route-config';
import { assertNever } from '../util/assert-never';
import { err, ok, type Result } from '../util/result';
import type { XdsError } from '../xds-client/resource-watcher';
import { leafClusters } from './aggregate-clusters';
import {
  dnsTargetKey,
  type DnsTarget,
  type NeededWatches,
  type Observations,
  type Observed,
} from './observations';
import { referencedClusters } from './referenced-clusters';
import { findVirtualHost } from './virtual-host';
import type { ApiListener, ClusterChildren, ClusterConfig, XdsConfig } from './xds-config';

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
}

/**
 * Walks from the listener to the endpoints, once: notes everything it comes by and, when all of that has a
 * value or an error, returns the config (gRFC A74). Pure. Cluster problems stay local to the cluster; only a
 * missing listener, route configuration or virtual host makes the whole an error.
 */
export function buildXdsConfig(input: BuildInput): BuildResult {
  return new Walk(input).run();
}

interface RouteSourceFound {
  readonly listener: ApiListener;
  readonly routeConfig: RouteConfigResource;
  /** Ambient errors so far, which every cluster's note repeats. */
  readonly ambient: readonly XdsError[];
}

class Walk {
  private readonly routeConfigs = new Set<string>();
  private readonly clusters = new Set<string>();
  private readonly endpoints = new Set<string>();
  private readonly dns = new Map<string, DnsTarget>();
  private complete = true;

  constructor(private readonly input: BuildInput) {}

  run(): BuildResult {
    const outcome = this.walk();
    const { routeConfigs, clusters, endpoints, dns } = this;
    return { needed: { routeConfigs, clusters, endpoints, dns }, outcome };
  }

  private walk(): BuildOutcome {
    const source = this.findRoutes();
    if (source === undefined) return { kind: 'incomplete' };
    if (!source.ok) return { kind: 'error', message: source.error };
    const { listener, routeConfig, ambient } = source.value;
    const virtualHost = this.chooseVirtualHost(routeConfig);
    if (virtualHost === undefined) {
      const { host, clientNote } = this.input;
      const message = `RouteConfiguration "${routeConfig.name}" has no virtual host for "${host}" (${clientNote})`;
      return { kind: 'error', message };
    }
    const clusters = this.collectClusters(virtualHost, ambient);
    if (!this.complete) return { kind: 'incomplete' };
    return { kind: 'config', config: this.share({ listener, routeConfig, virtualHost, clusters }) };
  }

  /** @returns `undefined` while something is still awaited. */
  private findRoutes(): Result<RouteSourceFound, string> | undefined {
    const { observed, listenerName, clientNote } = this.input;
    if (observed.listener.kind === 'waiting') return undefined;
    if (observed.listener.kind === 'error') return err(observed.listener.error.message);
    const { value: listener, ambient } = observed.listener;
    if (listener.kind === 'socket-listener') {
      return err(
        `Listener "${listenerName}" is a socket listener and cannot serve a client: it has no api_listener (${clientNote})`,
      );
    }
    const ambients = ambient === undefined ? [] : [ambient];
    const { routes } = listener.httpConnectionManager;
    if (routes.kind === 'inline') {
      return ok({ listener, routeConfig: routes.routeConfig, ambient: ambients });
    }
    this.routeConfigs.add(routes.routeConfigName);
    const found = observed.routeConfig(routes.routeConfigName);
    if (found === undefined || found.kind === 'waiting') return undefined;
    if (found.kind === 'error') return err(found.error.message);
    if (found.ambient !== undefined) ambients.push(found.ambient);
    return ok({ listener, routeConfig: found.value, ambient: ambients });
  }

  private chooseVirtualHost(routeConfig: RouteConfigResource): VirtualHost | undefined {
    const { previous, host } = this.input;
    // The host never changes, so the same routes lead to the same virtual host.
    if (previous?.routeConfig === routeConfig) return previous.virtualHost;
    return findVirtualHost(routeConfig, host);
  }

  private collectClusters(
    virtualHost: VirtualHost,
    ambient: readonly XdsError[],
  ): Map<string, Result<ClusterConfig, string>> {
    const result = new Map<string, Result<ClusterConfig, string>>();
    const pending = [...referencedClusters(virtualHost), ...this.input.subscribed];
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (this.clusters.has(name)) continue;
      this.clusters.add(name);
      const observed = this.settled(this.input.observed.cluster(name));
      if (observed === undefined) continue;
      if (observed.kind === 'error') {
        result.set(name, this.shareError(name, observed.error.message));
        continue;
      }
      const { discovery } = observed.value;
      if (discovery.kind === 'aggregate') pending.push(...discovery.clusters);
      const notes = observed.ambient === undefined ? ambient : [...ambient, observed.ambient];
      result.set(name, this.buildCluster(name, observed.value, notes));
    }
    return result;
  }

  private buildCluster(
    name: string,
    resource: ClusterResource,
    ambient: readonly XdsError[],
  ): Result<ClusterConfig, string> {
    const { discovery } = resource;
    switch (discovery.kind) {
      case 'eds':
        this.endpoints.add(discovery.edsResourceName);
        return this.buildLeaf(
          name,
          resource,
          this.input.observed.endpoints(discovery.edsResourceName),
          ambient,
        );
      case 'logical-dns': {
        const key = dnsTargetKey(discovery);
        this.dns.set(key, discovery);
        return this.buildLeaf(name, resource, this.input.observed.dns(key), ambient);
      }
      case 'aggregate':
        return this.buildAggregate(name, resource);
      default:
        return assertNever(discovery);
    }
  }

  private buildLeaf(
    name: string,
    resource: ClusterResource,
    observed: Observed<EndpointsResource> | undefined,
    ambient: readonly XdsError[],
  ): Result<ClusterConfig, string> {
    const found = this.settled(observed);
    const endpoints = found?.kind === 'value' ? found.value : undefined;
    const own = found?.kind === 'value' ? found.ambient : found?.error;
    const errors = own === undefined ? ambient : [...ambient, own];
    const resolutionNote =
      errors.length === 0 ? this.input.clientNote : errors.map((e) => e.message).join('; ');
    return this.shareCluster(name, resource, { kind: 'endpoints', endpoints, resolutionNote });
  }

  private buildAggregate(name: string, resource: ClusterResource): Result<ClusterConfig, string> {
    const leaves = leafClusters(name, (child) => {
      const observed = this.input.observed.cluster(child);
      return observed?.kind === 'value' ? observed.value : undefined;
    });
    if (!leaves.ok) return this.shareError(name, `${leaves.error} (${this.input.clientNote})`);
    return this.shareCluster(name, resource, { kind: 'aggregate', leafClusters: leaves.value });
  }

  /** What was observed once it is more than waiting; otherwise notes that the config is incomplete. */
  private settled<T>(
    observed: Observed<T> | undefined,
  ): Exclude<Observed<T>, { kind: 'waiting' }> | undefined {
    if (observed !== undefined && observed.kind !== 'waiting') return observed;
    this.complete = false;
    return undefined;
  }

  private shareCluster(
    name: string,
    resource: ClusterResource,
    children: ClusterChildren,
  ): Result<ClusterConfig, string> {
    const before = this.input.previous?.clusters.get(name);
    const same =
      before?.ok === true &&
      before.value.resource === resource &&
      sameChildren(before.value.children, children);
    return same ? before : ok({ resource, children });
  }

  private shareError(name: string, message: string): Result<ClusterConfig, string> {
    const before = this.input.previous?.clusters.get(name);
    return before?.ok === false && before.error === message ? before : err(message);
  }

  /** The previous config itself when nothing in it changed. */
  private share(next: XdsConfig): XdsConfig {
    const { previous } = this.input;
    if (previous === undefined) return next;
    const clusters = sameEntries(previous.clusters, next.clusters)
      ? previous.clusters
      : next.clusters;
    const same =
      previous.listener === next.listener &&
      previous.routeConfig === next.routeConfig &&
      previous.virtualHost === next.virtualHost &&
      previous.clusters === clusters;
    return same ? previous : { ...next, clusters };
  }
}

function sameChildren(a: ClusterChildren, b: ClusterChildren): boolean {
  if (a.kind === 'endpoints') {
    return (
      b.kind === 'endpoints' && a.endpoints === b.endpoints && a.resolutionNote === b.resolutionNote
    );
  }
  return (
    b.kind === 'aggregate' &&
    a.leafClusters.length === b.leafClusters.length &&
    a.leafClusters.every((name, i) => name === b.leafClusters[i])
  );
}

function sameEntries<V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}
