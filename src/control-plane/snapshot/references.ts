import {
  Cluster,
  Cluster_DiscoveryType,
} from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { Listener } from '../../wire/generated/envoy/config/listener/v3/listener';
import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';
import type { RouteAction } from '../../wire/generated/envoy/config/route/v3/route_components';
import { ClusterConfig } from '../../wire/generated/envoy/extensions/clusters/aggregate/v3/cluster';
import { HttpConnectionManager } from '../../wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import type { PathSegment } from '../../wire/proto-json/json-problem';
import { errorMessage } from '../../util/error-message';
import { err, ok, type Result } from '../../util/result';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  typeUrlOf,
  type ResourceKind,
} from './resource-kind';

/** A reference of one resource to another. */
export interface Reference {
  /** The field that holds the name, spelled as in the .proto file. */
  readonly path: readonly PathSegment[];
  readonly kind: ResourceKind;
  readonly name: string;
}

type Path = Reference['path'];

/** Returns the references of an encoded resource, or the decode error. */
export function findReferences(
  kind: ResourceKind,
  value: Uint8Array,
): Result<readonly Reference[], string> {
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
      for (const each of ofRouteAction(route.action.value, path)) references.push(each);
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
