import type { ServerConfig } from '../bootstrap/bootstrap';
import {
  RESOURCE_TYPE_DEFAULTS,
  type DiscoveryService,
  type ResourceType,
} from '../xds-client/resource-type';
import { peekText } from './shared/any';

/** A resource as a management server sent it. */
export interface OpaqueResource {
  readonly bytes: Uint8Array;
  readonly server: ServerConfig;
}

/** The types whose resources have their name elsewhere, or nowhere, are not known: in a wrapper, each has its name there. */
const NAME_FIELD = 1;

/** The services of single types, by the name of the message. */
const SERVICES: ReadonlyMap<string, DiscoveryService> = new Map(
  [
    ['envoy.config.listener.v3.Listener', 'listener.v3.ListenerDiscoveryService', 'Listeners'],
    ['envoy.config.route.v3.RouteConfiguration', 'route.v3.RouteDiscoveryService', 'Routes'],
    ['envoy.config.cluster.v3.Cluster', 'cluster.v3.ClusterDiscoveryService', 'Clusters'],
    [
      'envoy.config.endpoint.v3.ClusterLoadAssignment',
      'endpoint.v3.EndpointDiscoveryService',
      'Endpoints',
    ],
    [
      'envoy.extensions.transport_sockets.tls.v3.Secret',
      'secret.v3.SecretDiscoveryService',
      'Secrets',
    ],
  ].map(([message = '', service = '', noun = '']) => [
    message,
    { service: `envoy.service.${service}`, noun },
  ]),
);

/**
 * Creates a type of which nothing is decoded but the name.
 *
 * @param isComplete Whether a resource left out of a state-of-the-world response is thereby deleted.
 */
export function createOpaqueType(
  typeUrl: string,
  isComplete: boolean,
): ResourceType<OpaqueResource> {
  const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  return {
    ...RESOURCE_TYPE_DEFAULTS,
    typeUrl,
    typeName: messageName.slice(messageName.lastIndexOf('.') + 1),
    allResourcesRequiredInSotw: isComplete,
    discoveryService: SERVICES.get(messageName),
    peekName: (bytes) => peekText(bytes, NAME_FIELD),
    decode: (bytes, { server }) => ({
      name: undefined,
      result: { ok: true, value: { bytes, server } },
    }),
  };
}
