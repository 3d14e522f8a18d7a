import { Cluster, Cluster_DiscoveryType } from '../../generated/envoy/config/cluster/v3/cluster';
import { Listener } from '../../generated/envoy/config/listener/v3/listener';
import { RouteConfiguration } from '../../generated/envoy/config/route/v3/route';
import type { RouteAction } from '../../generated/envoy/config/route/v3/route_components';
import { ClusterConfig } from '../../generated/envoy/extensions/clusters/aggregate/v3/cluster';
import { HttpConnectionManager } from '../../generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { formatJsonProblem, type PathSegment } from '../../proto-json/json-problem';
import { errorMessage } from '../../util/error-message';
import { err, ok, type Result } from '../../util/result';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  resourceKinds,
  routeKind,
  typeUrlOf,
  type ResourceKind,
} from './resource-kind';
import type { SnapshotResource } from './resource-set';
import type { Snapshot } from './snapshot';

/** A resource that refers to a resource the snapshot does not hold, or that cannot be decoded. */
export interface Inconsistency {
  readonly resource: SnapshotResource;
  /** The field that holds the reference. */
  readonly path: readonly PathSegment[];
  readonly reason: string;
}

/**
 * Reports references to resources that the snapshot does not hold: of listeners to route configurations, of routes and
 * aggregate clusters to clusters, and of clusters to endpoint assignments. Resources without references to them are
 * consistent, and so are references to `xdstp` names of another authority, which another server may serve (gRFC A47).
 *
 * @returns one line per problem, with the resource and the field; empty if the snapshot is consistent.
 */
export function checkConsistency(snapshot: Snapshot): readonly string[] {
  return findInconsistencies(snapshot).map(formatInconsistency);
}

/** Returns the problems of `checkConsistency` with their resources. */
export function findInconsistencies(snapshot: Snapshot): readonly Inconsistency[] {
  const found: Inconsistency[] = [];
  for (const kind of resourceKinds) {
    for (const resource of snapshot.set(kind).byName.values()) {
      const references = findReferences(resource);
      if (!references.ok) {
        found.push({ resource, path: [], reason: `cannot be decoded: ${references.error}` });
        continue;
      }
      for (const { path, kind: target, name } of references.value) {
        // The client receives the error, so the reference is resolved.
        const { byName, errors } = snapshot.set(target);
        if (byName.has(name) || errors.has(name) || hasOtherAuthority(resource.name, name))
          continue;
        const reason = `${target.label} ${JSON.stringify(name)} is not in the snapshot`;
        found.push({ resource, path, reason });
      }
    }
  }
  return found;
}

/** Formats a problem as `cluster "echo": eds_cluster_config.service_name: …`. */
export function formatInconsistency(inconsistency: Inconsistency): string {
  const { kind, name } = inconsistency.resource;
  return `${kind.label} ${JSON.stringify(name)}: ${formatJsonProblem(inconsistency)}`;
}

function hasOtherAuthority(from: string, to: string): boolean {
  const authority = authorityOf(to);
  return authority !== undefined && authority !== authorityOf(from);
}

function authorityOf(name: string): string | undefined {
  return /^xdstp:\/\/([^/]*)\//.exec(name)?.[1];
}

/** Thrown for a snapshot that refers to resources it does not hold. The message lists every problem. */
export class ConsistencyError extends Error {
  override readonly name = 'ConsistencyError';

  constructor(
    /** The result of `checkConsistency`. */
    readonly problems: readonly string[],
  ) {
    super(`the snapshot is not consistent:\n${problems.join('\n')}`);
  }
}

/** A reference of one resource to another. */
interface Reference {
  /** The field that holds the name, spelled as in the .proto file. */
  readonly path: readonly PathSegment[];
  readonly kind: ResourceKind;
  readonly name: string;
}

type Path = Reference['path'];

// Snapshots share resources: each resource is decoded once.
const cache = new WeakMap<SnapshotResource, Result<readonly Reference[], string>>();

/** Returns the references of a resource, or the decode error. */
function findReferences(resource: SnapshotResource): Result<readonly Reference[], string> {
  let references = cache.get(resource);
  if (references === undefined) {
    references = decodeReferences(resource);
    cache.set(resource, references);
  }
  return references;
}

function decodeReferences({ kind, value }: SnapshotResource): Result<readonly Reference[], string> {
  try {
    if (kind === listenerKind) return ok(ofListener(Listener.decode(value)));
    if (kind === routeKind) return ok(ofRoutes(RouteConfiguration.decode(value), []));
    if (kind === clusterKind) return ok(ofCluster(Cluster.decode(value)));
    kind.readNameFromBytes(value);
    return ok([]);
  } catch (error) {
    return err(errorMessage(error));
  }
}

const httpConnectionManagerUrl = typeUrlOf(
  'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
);

function ofListener(listener: Listener): readonly Reference[] {
  const api = listener.apiListener?.apiListener;
  if (api?.typeUrl !== httpConnectionManagerUrl) return [];
  const specifier = HttpConnectionManager.decode(api.value).routeSpecifier;
  const path = ['api_listener', 'api_listener'];
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
      return ofRoutes(specifier.value, [...path, 'route_config']);
    default:
      return [];
  }
}

function ofRoutes(config: RouteConfiguration, prefix: Path): readonly Reference[] {
  const references: Reference[] = [];
  config.virtualHosts.forEach((host, hostIndex) => {
    host.routes.forEach((route, routeIndex) => {
      if (route.action?.$case !== 'route') return;
      const path = [...prefix, 'virtual_hosts', hostIndex, 'routes', routeIndex, 'route'];
      references.push(...ofRouteAction(route.action.value, path));
    });
  });
  return references;
}

function ofRouteAction(action: RouteAction, path: Path): readonly Reference[] {
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

function ofCluster(cluster: Cluster): readonly Reference[] {
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
