import { status, type ServerDuplexStream } from '@grpc/grpc-js';
import type {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../generated/envoy/service/discovery/v3/discovery';
import type { Node } from '../generated/envoy/config/core/v3/base';
import { encodeResponse, readRequest } from './ads-protocol';
import type { ClientEvent, ClientIdentity, ClientRequest, ClientState } from './client-state';
import type { Snapshot } from './snapshot';
import { Subscriptions, type PlannedResponse } from './subscriptions';

/** The server side of an aggregated discovery call. */
export type AdsCall = ServerDuplexStream<DiscoveryRequest, DiscoveryResponse>;

/** What a stream needs from the server it belongs to. */
export interface AdsStreamHost {
  readonly identifier: string;
  /** Whether clients that understand the `Resource` wrapper get it. */
  readonly wrapResources: boolean;
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number;
  /** What this node is to be told. */
  snapshotFor(nodeId: string): Snapshot;
  onEvent(event: ClientEvent): void;
  onRequest(client: ClientIdentity, request: ClientRequest): void;
  /** The stream is over and must not be used again. */
  onClosed(stream: AdsStream): void;
}

/** The feature with which a client says that it understands resources in a `Resource` wrapper. */
const wrapperFeature = 'xds.config.resource-in-sotw';

/** A stream whose client has said who it is. */
interface Introduced {
  readonly client: ClientIdentity;
  readonly connectedAtMs: number;
  readonly subscriptions: Subscriptions;
  readonly wrapResources: boolean;
}

/** One state-of-the-world stream: passes requests to the subscriptions and their answers back. */
export class AdsStream {
  private introduced: Introduced | undefined;
  private open = true;

  constructor(
    private readonly streamId: number,
    private readonly call: AdsCall,
    private readonly host: AdsStreamHost,
  ) {
    call.on('data', (request: DiscoveryRequest) => this.onRequest(request));
    call.on('end', () => this.end());
    call.on('cancelled', () => this.close());
    call.on('error', () => this.close());
    call.on('close', () => this.close());
  }

  /** What the client and this server have said to each other; undefined before the first request. */
  describe(): ClientState | undefined {
    if (this.introduced === undefined) return undefined;
    const { client, connectedAtMs, subscriptions } = this.introduced;
    return { ...client, connectedAtMs, types: subscriptions.describe() };
  }

  /** Sends what changed for this client. */
  onSnapshotChanged(): void {
    if (this.introduced === undefined) return;
    const { client, subscriptions } = this.introduced;
    const snapshot = this.host.snapshotFor(client.nodeId);
    this.send(this.introduced, subscriptions.onSnapshot(snapshot));
  }

  /** Ends the stream with an error the client can read. */
  fail(code: status, details: string): void {
    if (!this.open) return;
    this.close();
    this.call.emit('error', { code, details });
  }

  private onRequest(request: DiscoveryRequest): void {
    if (!this.open) return;
    if (request.typeUrl === '') {
      this.fail(status.INVALID_ARGUMENT, 'type_url: field not present');
      return;
    }
    const introduced = this.introduced ?? this.introduce(request.node);
    const { client, subscriptions } = introduced;
    const { typeUrl } = request;
    const read = readRequest(request);
    this.host.onRequest(client, read);
    const { verdict, subscribed, response } = subscriptions.onRequest(read);
    const events: ClientEvent[] = [];
    if (verdict !== undefined) events.push({ ...verdict, client, typeUrl });
    if (subscribed !== undefined) {
      const { subscribed: names, wildcard } = subscribed;
      events.push({ kind: 'subscribed', client, typeUrl, names, wildcard });
    }
    this.send(introduced, response === undefined ? [] : [response], events);
  }

  private introduce(node: Node | undefined): Introduced {
    const nodeId = node?.id ?? '';
    const client = { streamId: this.streamId, nodeId, peer: this.call.getPeer() };
    this.introduced = {
      client,
      connectedAtMs: this.host.now(),
      subscriptions: new Subscriptions(this.host.snapshotFor(nodeId)),
      wrapResources:
        this.host.wrapResources && (node?.clientFeatures.includes(wrapperFeature) ?? false),
    };
    this.host.onEvent({ kind: 'connected', client });
    return this.introduced;
  }

  /**
   * Writes responses, then tells observers: of `earlier`, and of the responses. Not before, as an
   * observer that sets a snapshot would have its responses overtake these.
   */
  private send(
    { client, wrapResources }: Introduced,
    responses: readonly PlannedResponse[],
    earlier: readonly ClientEvent[] = [],
  ): void {
    // An observer may have stopped the server in the meantime.
    if (!this.open) return;
    const { identifier } = this.host;
    for (const response of responses) {
      this.call.write(encodeResponse(response, { identifier, wrapResources }));
    }
    for (const event of earlier) this.host.onEvent(event);
    for (const { typeUrl, version, resources } of responses) {
      const names = resources.map(({ name }) => name);
      this.host.onEvent({ kind: 'sent', client, typeUrl, version, names });
    }
  }

  private end(): void {
    if (!this.open) return;
    this.close();
    this.call.end();
  }

  private close(): void {
    if (!this.open) return;
    this.open = false;
    this.host.onClosed(this);
    if (this.introduced === undefined) return;
    this.host.onEvent({ kind: 'disconnected', client: this.introduced.client });
  }
}
