import {
  Resource,
  type DiscoveryRequest,
  type DiscoveryResponse,
} from '../generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../generated/google/protobuf/any';
import type { ClientRequest, TypeState } from './client-state';
import type {
  Conversation,
  ConversationOutcome,
  ConversationStart,
  Outgoing,
} from './conversation';
import {
  clientFeatures,
  readNode,
  toAny,
  toHeartbeat,
  toProtoError,
  toResource,
} from './protocol-parts';
import { typeUrlOf } from './resource-kind';
import type { SnapshotResource } from './resource-set';
import type { Snapshot } from './snapshot';
import { Subscriptions, type PlannedResponse } from './subscriptions';

const resourceTypeUrl = typeUrlOf('envoy.service.discovery.v3.Resource');

/** The state-of-the-world variant: reads requests and writes what the subscriptions plan. */
export class SotwConversation implements Conversation<DiscoveryRequest, DiscoveryResponse> {
  private readonly subscriptions: Subscriptions;
  private readonly canWrap: boolean;
  private readonly hasTtl: boolean;

  constructor(private readonly start: ConversationStart) {
    this.subscriptions = new Subscriptions(start.snapshot, start.imitate);
    this.canWrap =
      start.clientFeatures.has(clientFeatures.resourceInSotw) ||
      start.clientFeatures.has(clientFeatures.supportsResourceInSotw);
    this.hasTtl = this.canWrap && start.clientFeatures.has(clientFeatures.resourceTtl);
  }

  onRequest(request: DiscoveryRequest): ConversationOutcome<DiscoveryResponse> {
    const read = readRequest(request);
    this.start.onRequest(read);
    const { response, ...outcome } = this.subscriptions.onRequest(read);
    return { ...outcome, responses: response === undefined ? [] : [this.write(response)] };
  }

  onSnapshot(snapshot: Snapshot): readonly Outgoing<DiscoveryResponse>[] {
    return this.subscriptions.onSnapshot(snapshot).map((response) => this.write(response));
  }

  heartbeats(): readonly Outgoing<DiscoveryResponse>[] {
    if (!this.hasTtl) return [];
    return this.subscriptions
      .heartbeats()
      .map((response) => this.write(response, (resource) => wrap(toHeartbeat(resource, true))));
  }

  describe(): ReadonlyMap<string, TypeState> {
    return this.subscriptions.describe();
  }

  private write(
    { typeUrl, version, nonce, resources, errors }: PlannedResponse,
    encode = (resource: SnapshotResource) => this.encode(resource),
  ): Outgoing<DiscoveryResponse> {
    const message: DiscoveryResponse = {
      versionInfo: version,
      resources: resources.map(encode),
      typeUrl,
      nonce,
      controlPlane: { identifier: this.start.identifier },
      resourceErrors: errors.map(toProtoError),
    };
    const names = resources.map(({ name }) => name);
    const failed = errors.map(({ name }) => name);
    return { message, typeUrl, version, names, removed: [], failed };
  }

  private encode(resource: SnapshotResource): Any {
    const isTimed = this.hasTtl && resource.ttlMs !== undefined;
    const isWrapped = isTimed || (this.canWrap && this.start.wrapResources);
    return isWrapped ? wrap(toResource(resource, this.hasTtl)) : toAny(resource);
  }
}

function wrap(resource: Resource): Any {
  return { typeUrl: resourceTypeUrl, value: Resource.encode(resource).finish() };
}

function readRequest(request: DiscoveryRequest): ClientRequest {
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
