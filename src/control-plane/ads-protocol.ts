import type { ServiceDefinition } from '@grpc/grpc-js';
import { AggregatedDiscoveryServiceDefinition } from '../generated/envoy/service/discovery/v3/ads';
import {
  DiscoveryRequest,
  DiscoveryResponse,
  Resource,
} from '../generated/envoy/service/discovery/v3/discovery';
import type { Node } from '../generated/envoy/config/core/v3/base';
import type { Any } from '../generated/google/protobuf/any';
import type { ClientNode, ClientRequest } from './client-state';
import { typeUrlOf } from './resource-kind';
import type { SnapshotResource } from './resource-set';
import type { PlannedResponse } from './subscriptions';

const { fullName, methods } = AggregatedDiscoveryServiceDefinition;

/** The aggregated discovery service as `@grpc/grpc-js` wants it: the state-of-the-world stream. */
export const adsServiceDefinition: ServiceDefinition = {
  StreamAggregatedResources: {
    path: `/${fullName}/${methods.streamAggregatedResources.name}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: (message: DiscoveryRequest) =>
      toBuffer(DiscoveryRequest.encode(message).finish()),
    requestDeserialize: (bytes: Buffer) => DiscoveryRequest.decode(bytes),
    responseSerialize: (message: DiscoveryResponse) =>
      toBuffer(DiscoveryResponse.encode(message).finish()),
    responseDeserialize: (bytes: Buffer) => DiscoveryResponse.decode(bytes),
  },
};

/** Reads what a request says. */
export function readRequest(request: DiscoveryRequest): ClientRequest {
  const { typeUrl, resourceNames, versionInfo, responseNonce, errorDetail, node } = request;
  return {
    typeUrl,
    resourceNames,
    versionInfo,
    responseNonce,
    errorMessage: errorDetail?.message,
    node: node && readNode(node),
  };
}

function readNode(node: Node): ClientNode {
  const { id, cluster, userAgentName, userAgentVersionType, clientFeatures, locality } = node;
  const userAgentVersion = userAgentVersionType?.value ?? '';
  return { id, cluster, userAgentName, userAgentVersion, clientFeatures, locality };
}

/** How responses are written. */
export interface ResponseOptions {
  /** Name of this server in its responses. */
  readonly identifier: string;
  /** Puts each resource into a `Resource` message with its name and version. */
  readonly wrapResources: boolean;
}

/** Writes a planned response as the message that goes over the wire. */
export function encodeResponse(
  planned: PlannedResponse,
  { identifier, wrapResources }: ResponseOptions,
): DiscoveryResponse {
  return {
    versionInfo: planned.version,
    resources: planned.resources.map(wrapResources ? wrap : toAny),
    typeUrl: planned.typeUrl,
    nonce: planned.nonce,
    controlPlane: { identifier },
    resourceErrors: [],
  };
}

const resourceTypeUrl = typeUrlOf('envoy.service.discovery.v3.Resource');

function toAny({ kind, value }: SnapshotResource): Any {
  return { typeUrl: kind.typeUrl, value };
}

function wrap(resource: SnapshotResource): Any {
  const { name, version } = resource;
  const wrapper = Resource.create({ name, version, resource: toAny(resource) });
  return { typeUrl: resourceTypeUrl, value: Resource.encode(wrapper).finish() };
}

/** A view of the same memory, not a copy. */
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
