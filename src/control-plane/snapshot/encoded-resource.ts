import { createHash } from 'node:crypto';
import {
  Cluster,
  Cluster_DiscoveryType,
} from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { ClusterLoadAssignment } from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import { Listener } from '../../wire/generated/envoy/config/listener/v3/listener';
import type { FilterChain } from '../../wire/generated/envoy/config/listener/v3/listener_components';
import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';
import type { RouteAction } from '../../wire/generated/envoy/config/route/v3/route_components';
import { ClusterConfig } from '../../wire/generated/envoy/extensions/clusters/aggregate/v3/cluster';
import { HttpConnectionManager } from '../../wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import type { Any } from '../../wire/generated/google/protobuf/any';
import type { PathSegment } from '../../wire/proto-json/json-problem';
import { errorMessage } from '../../util/errors';
import { err, ok, type Result } from '../../util/result';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  typeUrlOf,
  type ResourceError,
  type ResourceErrorInput,
  type ResourceKind,
  type SnapshotResource,
} from '../resource';

/** A resource that this server has encoded. Snapshots share it, and it is decoded for its references once. */
class EncodedResource implements SnapshotResource {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly value: Uint8Array;
  readonly version: string;
  readonly aliases: readonly string[];
  readonly ttlMs: number | undefined;
  readonly digest: string;
  #references: Result<readonly Reference[], string> | undefined;

  constructor({ kind, name, value, version, aliases, ttlMs, digest }: SnapshotResource) {
    this.kind = kind;
    this.name = name;
    this.value = value;
    this.version = version;
    this.aliases = aliases;
    this.ttlMs = ttlMs;
    this.digest = digest;
  }

  references(): Result<readonly Reference[], string> {
    return (this.#references ??= findReferences(this.kind, this.value));
  }
}

/** Returns the references of a resource to others, or the decode error. */
export function referencesOf(resource: SnapshotResource): Result<readonly Reference[], string> {
  if (resource instanceof EncodedResource) return resource.references();
  return findReferences(resource.kind, resource.value);
}

/** The options of `createResource`. */
export type ResourceOptions = Pick<SnapshotResource, 'name' | 'value'> & {
  /** Default: the digest. */
  readonly version?: string | undefined;
  /** Default: none. */
  readonly aliases?: readonly string[] | undefined;
  readonly ttlMs?: number | undefined;
};

/** Creates a resource, or returns `previous` if it is equal. */
export function createResource(
  kind: ResourceKind,
  { name, value, version, aliases = [], ttlMs }: ResourceOptions,
  previous: SnapshotResource | undefined,
): SnapshotResource {
  const isPlain = version === undefined && aliases.length === 0 && ttlMs === undefined;
  if (isPlain && previous !== undefined && isPlainCopy(previous, name, value)) return previous;
  const hash = createHash('sha256').update(JSON.stringify(name)).update(value);
  if (!isPlain) hash.update(JSON.stringify({ version, aliases, ttlMs }));
  const digest = hash.digest('hex').slice(0, 16);
  if (previous?.digest === digest) return previous;
  return new EncodedResource({
    kind,
    name,
    value,
    aliases,
    ttlMs,
    digest,
    version: version ?? digest,
  });
}

/** Creates an error with its digest. */
export function createResourceError(input: ResourceErrorInput): ResourceError {
  const { kind, name, code, message } = input;
  const hash = createHash('sha256').update(JSON.stringify(['error', name, code, message]));
  return { kind, name, code, message, digest: hash.digest('hex').slice(0, 16) };
}

function isPlainCopy(resource: SnapshotResource, name: string, value: Uint8Array): boolean {
  return (
    resource.name === name &&
    resource.version === resource.digest &&
    resource.aliases.length === 0 &&
    resource.ttlMs === undefined &&
    Buffer.compare(resource.value, value) === 0
  );
}

/** A reference of one resource to another. */
export interface Reference {
  /** The field that holds the name, spelled as in the .proto file. */
  readonly path: readonly PathSegment[];
  readonly kind: ResourceKind;
  readonly name: string;
}

type Path = Reference['path'];

const NAME_READERS = new Map<ResourceKind, (value: Uint8Array) => string>([
  [listenerKind, (value) => Listener.decode(value).name],
  [routeKind, (value) => RouteConfiguration.decode(value).name],
  [clusterKind, (value) => Cluster.decode(value).name],
  [endpointKind, (value) => ClusterLoadAssignment.decode(value).clusterName],
]);

/** Reads the name of an encoded resource; empty if it has none, or the type has no schema here. Throws for bytes that are no message. */
export function readName(kind: ResourceKind, value: Uint8Array): string {
  return NAME_READERS.get(kind)?.(value) ?? '';
}

/** Returns the references of an encoded resource, or the decode error. */
function findReferences(
  kind: ResourceKind,
  value: Uint8Array,
): Result<readonly Reference[], string> {
  try {
    if (kind === listenerKind) return ok(findInListener(Listener.decode(value)));
    if (kind === routeKind) return ok(findInRoutes(RouteConfiguration.decode(value), []));
    if (kind === clusterKind) return ok(findInCluster(Cluster.decode(value)));
    readName(kind, value);
    return ok([]);
  } catch (error) {
    return err(errorMessage(error));
  }
}

const httpConnectionManagerUrl = typeUrlOf(
  'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
);

/**
 * Listeners of clients have one connection manager, those of servers one in each filter chain, in whose routes clusters have no meaning.
 */
function findInListener(listener: Listener): readonly Reference[] {
  const api = listener.apiListener?.apiListener;
  if (api !== undefined) return findInManager(api, ['api_listener', 'api_listener'], findInRoutes);
  const { filterChains, defaultFilterChain } = listener;
  const chains: (readonly [FilterChain, Path])[] = [];
  for (const [i, chain] of filterChains.entries()) chains.push([chain, ['filter_chains', i]]);
  if (defaultFilterChain !== undefined) chains.push([defaultFilterChain, ['default_filter_chain']]);
  return chains.flatMap(([{ filters }, path]) =>
    filters.flatMap(({ configType }, i) =>
      findInManager(configType?.value, [...path, 'filters', i, 'typed_config'], () => []),
    ),
  );
}

/** Other filters than a connection manager have no references. */
function findInManager(
  config: Any | undefined,
  path: Path,
  findInline: typeof findInRoutes,
): readonly Reference[] {
  if (config?.typeUrl !== httpConnectionManagerUrl) return [];
  const specifier = HttpConnectionManager.decode(config.value).routeSpecifier;
  switch (specifier?.$case) {
    case 'rds':
      return [
        {
          path: [...path, 'rds', 'route_config_name'],
          kind: routeKind,
          name: specifier.value.routeConfigName,
        },
      ];
    case 'routeConfig':
      return findInline(specifier.value, [...path, 'route_config']);
    default:
      return [];
  }
}

function findInRoutes(config: RouteConfiguration, prefix: Path): readonly Reference[] {
  const references: Reference[] = [];
  config.virtualHosts.forEach((host, hostIndex) => {
    host.routes.forEach((route, routeIndex) => {
      if (route.action?.$case !== 'route') return;
      const path = [...prefix, 'virtual_hosts', hostIndex, 'routes', routeIndex, 'route'];
      for (const each of findInRouteAction(route.action.value, path)) references.push(each);
    });
  });
  return references;
}

function findInRouteAction(action: RouteAction, path: Path): readonly Reference[] {
  const specifier = action.clusterSpecifier;
  switch (specifier?.$case) {
    case 'cluster':
      return [{ path: [...path, 'cluster'], kind: clusterKind, name: specifier.value }];
    case 'weightedClusters':
      return specifier.value.clusters.map(({ name }, index) => ({
        path: [...path, 'weighted_clusters', 'clusters', index, 'name'],
        kind: clusterKind,
        name,
      }));
    default:
      return [];
  }
}

const aggregateUrl = typeUrlOf('envoy.extensions.clusters.aggregate.v3.ClusterConfig');

function findInCluster(cluster: Cluster): readonly Reference[] {
  const discovery = cluster.clusterDiscoveryType;
  if (discovery?.$case === 'type') {
    return discovery.value === Cluster_DiscoveryType.EDS ? [endpointsOf(cluster)] : [];
  }
  const config = discovery?.value.typedConfig;
  if (config?.typeUrl !== aggregateUrl) return [];
  return ClusterConfig.decode(config.value).clusters.map((name, index) => ({
    path: ['cluster_type', 'typed_config', 'clusters', index],
    kind: clusterKind,
    name,
  }));
}

function endpointsOf(cluster: Cluster): Reference {
  const serviceName = cluster.edsClusterConfig?.serviceName ?? '';
  return serviceName === ''
    ? { path: ['name'], kind: endpointKind, name: cluster.name }
    : { path: ['eds_cluster_config', 'service_name'], kind: endpointKind, name: serviceName };
}
