import { DEFAULT_LIMITS } from '../bootstrap/limits';
import type { ResourceType } from '../xds-client/resource-type';
import type { ClusterResource } from './cluster/cluster';
import { createClusterResourceType } from './cluster/cluster-parser';
import type * as Collections from './endpoints/endpoint-collection-parser';
import type { EndpointCollection, EndpointsResource } from './endpoints/endpoints';
import { createEndpointsResourceType } from './endpoints/endpoints-parser';
import type { ExtensionPoints } from './extension-points';
import type { ListenerResource } from './listener/listener';
import { createListenerResourceType } from './listener/listener-parser';
import type { RouteConfigResource } from './route-config/route-config';
import { createRouteConfigResourceType } from './route-config/route-config-parser';
import { lazy } from '../util/lazy';

const loadCollections = lazy<typeof Collections>(() =>
  require('./endpoints/endpoint-collection-parser'),
);

/** The resource types this client watches. */
export interface ResourceTypes {
  /** LDS. */
  readonly listener: ResourceType<ListenerResource>;
  /** RDS. */
  readonly routeConfig: ResourceType<RouteConfigResource>;
  /** CDS. */
  readonly cluster: ResourceType<ClusterResource>;
  /** EDS. */
  readonly endpoints: ResourceType<EndpointsResource>;
  /** LEDS list collections (gRFC A95); absent if assignments do not refer to any. */
  readonly endpointCollection?: ResourceType<EndpointCollection>;
}

/** All resource types, with one set of extensions. */
export function createResourceTypes(extensions: ExtensionPoints): ResourceTypes {
  const { maxEndpoints = DEFAULT_LIMITS.maxEndpoints } = extensions;
  const endpointLimit = { name: 'maxEndpoints', noun: 'endpoints', max: maxEndpoints };
  return {
    listener: createListenerResourceType(extensions),
    routeConfig: createRouteConfigResourceType(extensions),
    cluster: createClusterResourceType(extensions),
    endpoints: createEndpointsResourceType(extensions, endpointLimit),
    ...(extensions.endpointCollections === true && {
      endpointCollection: loadCollections().createEndpointCollectionResourceType(
        extensions,
        endpointLimit,
      ),
    }),
  };
}
