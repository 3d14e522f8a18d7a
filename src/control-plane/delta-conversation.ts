import type {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  Resource,
} from '../generated/envoy/service/discovery/v3/discovery';
import type { DeltaClientRequest, TypeState } from './client-state';
import type {
  Conversation,
  ConversationOutcome,
  ConversationStart,
  Outgoing,
} from './conversation';
import {
  DeltaSubscriptions,
  type PlannedDeltaResponse,
  type PlannedHeartbeat,
} from './delta-subscriptions';
import { clientFeatures, readNode, toHeartbeat, toProtoError, toResource } from './protocol-parts';
import type { Snapshot } from './snapshot';

/** The incremental variant: reads requests and writes what the subscriptions plan. */
export class DeltaConversation implements Conversation<
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse
> {
  private readonly subscriptions: DeltaSubscriptions;
  private readonly hasTtl: boolean;

  constructor(private readonly start: ConversationStart) {
    this.subscriptions = new DeltaSubscriptions(start.snapshot, start.imitate);
    this.hasTtl = start.clientFeatures.has(clientFeatures.resourceTtl);
  }

  onRequest(request: DeltaDiscoveryRequest): ConversationOutcome<DeltaDiscoveryResponse> {
    const read = readRequest(request);
    this.start.onDeltaRequest(read);
    const { response, ...outcome } = this.subscriptions.onRequest(read);
    return { ...outcome, responses: response === undefined ? [] : [this.write(response)] };
  }

  onSnapshot(snapshot: Snapshot): readonly Outgoing<DeltaDiscoveryResponse>[] {
    return this.subscriptions.onSnapshot(snapshot).map((response) => this.write(response));
  }

  heartbeats(): readonly Outgoing<DeltaDiscoveryResponse>[] {
    if (!this.hasTtl) return [];
    return this.subscriptions.heartbeats().map((heartbeat) => {
      const names = heartbeat.resources.map(({ name }) => name);
      const resources = heartbeat.resources.map((resource) => toHeartbeat(resource, true));
      return this.compose(heartbeat, resources, { names, removed: [], failed: [] });
    });
  }

  describe(): ReadonlyMap<string, TypeState> {
    return this.subscriptions.describe();
  }

  private write(response: PlannedDeltaResponse): Outgoing<DeltaDiscoveryResponse> {
    const { resources, removed, errors } = response;
    const summary = {
      names: resources.map(({ name }) => name),
      removed,
      failed: errors.map(({ name }) => name),
    };
    const encoded = resources.map((resource) => toResource(resource, this.hasTtl));
    const outgoing = this.compose(response, encoded, summary);
    return {
      ...outgoing,
      message: { ...outgoing.message, resourceErrors: errors.map(toProtoError) },
    };
  }

  private compose(
    { typeUrl, version, nonce }: PlannedHeartbeat,
    resources: Resource[],
    summary: Pick<Outgoing<unknown>, 'names' | 'removed' | 'failed'>,
  ): Outgoing<DeltaDiscoveryResponse> {
    const message: DeltaDiscoveryResponse = {
      systemVersionInfo: version,
      resources,
      typeUrl,
      removedResources: [...summary.removed],
      removedResourceNames: [],
      nonce,
      controlPlane: { identifier: this.start.identifier },
      resourceErrors: [],
    };
    return { message, typeUrl, version, ...summary };
  }
}

function readRequest(request: DeltaDiscoveryRequest): DeltaClientRequest {
  const { typeUrl, initialResourceVersions, responseNonce, errorDetail, node } = request;
  return {
    typeUrl,
    subscribe: request.resourceNamesSubscribe,
    unsubscribe: request.resourceNamesUnsubscribe,
    initialVersions: initialResourceVersions,
    responseNonce,
    errorMessage: errorDetail?.message,
    node: node && readNode(node),
  };
}
