import type {
  MethodDefinition,
  Server,
  ServerDuplexStream,
  UntypedHandleCall,
} from '@grpc/grpc-js';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../generated/envoy/service/discovery/v3/discovery';
import { asBuffer } from '../util/as-buffer';
import { AdsStream, type AdsStreamHost, type DiscoveryStream } from './ads-stream';
import type { ConversationStart } from './conversation';
import { DeltaConversation } from './delta-conversation';
import { clusterKind, endpointKind, listenerKind, routeKind } from './resource-kind';
import { SotwConversation } from './sotw-conversation';

/** A discovery service: the aggregated one, or one for a single type. */
interface DiscoveryService {
  /** Full name, as in the path of a call. */
  readonly service: string;
  /** What its two methods end with, after `Stream` and `Delta`. */
  readonly suffix: string;
  /** The only type it serves; undefined for the aggregated service. */
  readonly typeUrl: string | undefined;
}

const aggregated: DiscoveryService = {
  service: 'envoy.service.discovery.v3.AggregatedDiscoveryService',
  suffix: 'AggregatedResources',
  typeUrl: undefined,
};

const services: readonly DiscoveryService[] = [
  aggregated,
  {
    service: 'envoy.service.listener.v3.ListenerDiscoveryService',
    suffix: 'Listeners',
    typeUrl: listenerKind.typeUrl,
  },
  {
    service: 'envoy.service.route.v3.RouteDiscoveryService',
    suffix: 'Routes',
    typeUrl: routeKind.typeUrl,
  },
  {
    service: 'envoy.service.cluster.v3.ClusterDiscoveryService',
    suffix: 'Clusters',
    typeUrl: clusterKind.typeUrl,
  },
  {
    service: 'envoy.service.endpoint.v3.EndpointDiscoveryService',
    suffix: 'Endpoints',
    typeUrl: endpointKind.typeUrl,
  },
];

/** Where new streams go. */
export interface StreamAcceptor {
  readonly host: AdsStreamHost;
  nextStreamId(): number;
  accept(stream: DiscoveryStream): void;
}

/**
 * Adds every discovery service to a server: the aggregated one and those with a stream per type, each in the
 * state-of-the-world and in the incremental variant.
 */
export function addDiscoveryServices(server: Server, acceptor: StreamAcceptor): void {
  for (const service of services) {
    const methods = [createSotwMethod(service, acceptor), createDeltaMethod(service, acceptor)];
    server.addService(
      Object.fromEntries(methods.map(({ name, definition }) => [name, definition])),
      Object.fromEntries(methods.map(({ name, handler }) => [name, handler])),
    );
  }
}

interface Method<Request, Message> {
  readonly name: string;
  readonly definition: MethodDefinition<Request, Message>;
  readonly handler: UntypedHandleCall;
}

function createSotwMethod(
  { service, suffix, typeUrl }: DiscoveryService,
  acceptor: StreamAcceptor,
): Method<DiscoveryRequest, DiscoveryResponse> {
  const name = `Stream${suffix}`;
  return {
    name,
    definition: {
      path: `/${service}/${name}`,
      requestStream: true,
      responseStream: true,
      requestSerialize: (message) => asBuffer(DiscoveryRequest.encode(message).finish()),
      requestDeserialize: (bytes) => DiscoveryRequest.decode(bytes),
      responseSerialize: (message) => asBuffer(DiscoveryResponse.encode(message).finish()),
      responseDeserialize: (bytes) => DiscoveryResponse.decode(bytes),
    },
    handler: (call: ServerDuplexStream<DiscoveryRequest, DiscoveryResponse>) => {
      const streamId = acceptor.nextStreamId();
      const options = {
        streamId,
        method: name,
        typeUrl,
        converse: (start: ConversationStart) => new SotwConversation(start),
      };
      acceptor.accept(new AdsStream(call, options, acceptor.host));
    },
  };
}

function createDeltaMethod(
  { service, suffix, typeUrl }: DiscoveryService,
  acceptor: StreamAcceptor,
): Method<DeltaDiscoveryRequest, DeltaDiscoveryResponse> {
  const name = `Delta${suffix}`;
  return {
    name,
    definition: {
      path: `/${service}/${name}`,
      requestStream: true,
      responseStream: true,
      requestSerialize: (message) => asBuffer(DeltaDiscoveryRequest.encode(message).finish()),
      requestDeserialize: (bytes) => DeltaDiscoveryRequest.decode(bytes),
      responseSerialize: (message) => asBuffer(DeltaDiscoveryResponse.encode(message).finish()),
      responseDeserialize: (bytes) => DeltaDiscoveryResponse.decode(bytes),
    },
    handler: (call: ServerDuplexStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>) => {
      const streamId = acceptor.nextStreamId();
      const options = {
        streamId,
        method: name,
        typeUrl,
        converse: (start: ConversationStart) => new DeltaConversation(start),
      };
      acceptor.accept(new AdsStream(call, options, acceptor.host));
    },
  };
}
