import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
  Resource,
  type ResourceError as ProtoResourceError,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../wire/generated/google/protobuf/any';
import { msToDuration } from '../../util/duration';
import { clientFeatures } from '../client-state';
import type { MessageCodec } from '../server-stream';
import { typeUrlOf, type ResourceError, type SnapshotResource } from '../resource';
import { createDeltaSubscriptions, type DeltaRequest } from './delta-subscription';
import type { ServedResources } from './resource-view';
import { createSotwSubscriptions, type SotwRequest } from './sotw-subscription';
import type { PlannedResponse, RequestOutcome, Subscriptions } from './subscriptions';

/** The settings of the protocol on all streams. */
export interface ProtocolSettings {
  /** The `control_plane.identifier` of each response. */
  readonly identifier: string;
  /** Whether state-of-the-world responses hold resources in `Resource` wrappers for clients that support them. */
  readonly wrapResources: boolean;
}

/** The options of the protocol of one stream. */
export interface ProtocolOptions extends ProtocolSettings {
  readonly resources: ServedResources;
  /** `client_features` of the node. */
  readonly features: ReadonlySet<string>;
}

/** The protocol of one stream: its subscription state, and the encoding of its messages. */
export interface StreamProtocol<Request, Response> {
  readonly subscriptions: Pick<
    Subscriptions<SotwRequest> | Subscriptions<DeltaRequest>,
    'onChanged' | 'heartbeats' | 'describe'
  >;
  /** Whether the client supports times to live. */
  readonly hasTtl: boolean;
  /** Returns why a request is more than a stream may have; `undefined` if it is not. */
  findExcess(request: Request): string | undefined;
  onRequest(request: Request): RequestOutcome;
  encode(response: PlannedResponse): Response;
  /** Encodes a response without the bytes of its resources. */
  encodeHeartbeat(response: PlannedResponse): Response;
}

/** The fields that the messages of both variants' requests have. */
export interface AnyRequest {
  readonly typeUrl: string;
  readonly node: Node | undefined;
}

/** A variant of the xDS transport protocol. */
export interface ProtocolVariant<Request extends AnyRequest, Response> {
  /** Prefix of its gRPC methods. */
  readonly methodPrefix: string;
  readonly request: MessageCodec<Request>;
  readonly response: MessageCodec<Response>;
  createProtocol(options: ProtocolOptions): StreamProtocol<Request, Response>;
}

/** The state-of-the-world variant. */
export const sotwVariant: ProtocolVariant<DiscoveryRequest, DiscoveryResponse> = {
  methodPrefix: 'Stream',
  request: DiscoveryRequest,
  response: DiscoveryResponse,
  createProtocol(options) {
    const { features, identifier } = options;
    const subscriptions = createSotwSubscriptions(options.resources);
    const canWrap =
      features.has(clientFeatures.resourceInSotw) ||
      features.has(clientFeatures.supportsResourceInSotw);
    const hasTtl = canWrap && features.has(clientFeatures.resourceTtl);
    const toWrapped = (resource: SnapshotResource) => wrap(toHeartbeat(resource, true));
    const toAny = (resource: SnapshotResource) => {
      const hasOwnTtl = hasTtl && resource.ttlMs !== undefined;
      const isWrapped = hasOwnTtl || (canWrap && options.wrapResources);
      return isWrapped ? wrap(toResource(resource, hasTtl)) : toPlainAny(resource);
    };
    const encode = (response: PlannedResponse, resources: Any[]): DiscoveryResponse => ({
      versionInfo: response.version,
      resources,
      typeUrl: response.typeUrl,
      nonce: response.nonce,
      controlPlane: { identifier },
      resourceErrors: response.errors.map(toProtoError),
    });
    return {
      subscriptions,
      hasTtl,
      findExcess: (request) => subscriptions.findExcess(request),
      onRequest: (request) => subscriptions.onRequest(readRequest(request)),
      encode: (response) => encode(response, response.resources.map(toAny)),
      encodeHeartbeat: (response) => encode(response, response.resources.map(toWrapped)),
    };
  },
};

/** The incremental variant. */
export const deltaVariant: ProtocolVariant<DeltaDiscoveryRequest, DeltaDiscoveryResponse> = {
  methodPrefix: 'Delta',
  request: DeltaDiscoveryRequest,
  response: DeltaDiscoveryResponse,
  createProtocol(options) {
    const subscriptions = createDeltaSubscriptions(options.resources);
    const hasTtl = options.features.has(clientFeatures.resourceTtl);
    const encode = (
      response: PlannedResponse,
      toMessage: (resource: SnapshotResource, hasTtl: boolean) => Resource,
    ): DeltaDiscoveryResponse => ({
      systemVersionInfo: response.version,
      resources: response.resources.map((resource) => toMessage(resource, hasTtl)),
      typeUrl: response.typeUrl,
      removedResources: [...response.removed],
      removedResourceNames: [],
      nonce: response.nonce,
      controlPlane: { identifier: options.identifier },
      resourceErrors: response.errors.map(toProtoError),
    });
    return {
      subscriptions,
      hasTtl,
      findExcess: ({ typeUrl, resourceNamesSubscribe: subscribe }) =>
        subscriptions.findExcess({ typeUrl, subscribe }),
      onRequest: (request) => subscriptions.onRequest(readDeltaRequest(request)),
      encode: (response) => encode(response, toResource),
      // Sent only to clients that support times to live.
      encodeHeartbeat: (response) => encode(response, toHeartbeat),
    };
  },
};

function readRequest(message: DiscoveryRequest): SotwRequest {
  const { typeUrl, resourceNames, versionInfo, responseNonce, errorDetail } = message;
  return {
    typeUrl,
    resourceNames,
    versionInfo,
    responseNonce,
    errorMessage: errorDetail?.message,
  };
}

function readDeltaRequest(message: DeltaDiscoveryRequest): DeltaRequest {
  const { typeUrl, initialResourceVersions, responseNonce, errorDetail } = message;
  return {
    typeUrl,
    subscribe: message.resourceNamesSubscribe,
    unsubscribe: message.resourceNamesUnsubscribe,
    initialVersions: initialResourceVersions,
    responseNonce,
    errorMessage: errorDetail?.message,
  };
}

function toPlainAny({ kind, value }: SnapshotResource): Any {
  return { typeUrl: kind.typeUrl, value };
}

const resourceTypeUrl = typeUrlOf('envoy.service.discovery.v3.Resource');

function wrap(resource: Resource): Any {
  return { typeUrl: resourceTypeUrl, value: Resource.encode(resource).finish() };
}

function toResource(resource: SnapshotResource, hasTtl: boolean): Resource {
  return Resource.create({ ...heartbeatOf(resource, hasTtl), resource: toPlainAny(resource) });
}

function toHeartbeat(resource: SnapshotResource, hasTtl: boolean): Resource {
  return Resource.create(heartbeatOf(resource, hasTtl));
}

function heartbeatOf({ name, version, aliases, ttlMs }: SnapshotResource, hasTtl: boolean) {
  const ttl = hasTtl && ttlMs !== undefined ? msToDuration(ttlMs) : undefined;
  return { name, version, aliases: [...aliases], ttl };
}

/** Encodes a resource error (xRFC TP3). */
function toProtoError({ name, code, message }: ResourceError): ProtoResourceError {
  return { resourceName: { name }, errorDetail: { code, message, details: [] } };
}
