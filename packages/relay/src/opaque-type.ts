import {
  type ServerConfig,
  peekText,
  RESOURCE_TYPE_DEFAULTS,
  type DecodeContext,
  type Decoded,
  type DiscoveryService,
  type ResourceType,
} from 'grpc-xds/internal';
import { findResourceKind, type ResourceKind } from 'grpc-xds/control-plane';
import type { Steps } from '../../../src/util/steps';

/** A resource as a management server sent it. */
export interface OpaqueResource {
  readonly bytes: Uint8Array;
  readonly server: ServerConfig;
}

/** A type of resources that a relay hands on: for the client below, and for the server above. */
export interface RelayedType {
  readonly client: ResourceType<OpaqueResource>;
  readonly server: ResourceKind;
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

/** Creates a type of which nothing is decoded but the name. */
export function createRelayedType(typeUrl: string): RelayedType {
  const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  const server = findResourceKind(typeUrl) ?? createKind(typeUrl, messageName);
  const client: ResourceType<OpaqueResource> = {
    ...RESOURCE_TYPE_DEFAULTS,
    typeUrl,
    typeName: messageName.slice(messageName.lastIndexOf('.') + 1),
    allResourcesRequiredInSotw: server.isComplete,
    discoveryService: SERVICES.get(messageName),
    peekName: (bytes) => peekText(bytes, NAME_FIELD),
    decode,
  };
  return { client, server };
}

/** Not `otherResourceKind`, which keeps each type that a client names for ever. */
function createKind(typeUrl: string, messageName: string): ResourceKind {
  return {
    ...{ typeUrl, messageName, label: messageName, isComplete: false },
    nameField: { proto: 'name', json: 'name' },
    readNameFromBytes: () => '',
  };
}

// eslint-disable-next-line require-yield -- nothing is read of the resource
function* decode(
  bytes: Uint8Array,
  { server }: DecodeContext<OpaqueResource>,
): Steps<Decoded<OpaqueResource>> {
  return { name: undefined, result: { ok: true, value: { bytes, server } } };
}
