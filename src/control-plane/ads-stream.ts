import { status, type ServerDuplexStream } from '@grpc/grpc-js';
import { Node } from '../generated/envoy/config/core/v3/base';
import type {
  ClientEvent,
  ClientIdentity,
  ClientNode,
  ClientRequest,
  ClientState,
  DeltaClientRequest,
} from './client-state';
import type { AnyRequest, Conversation, ConversationStart, Outgoing } from './conversation';
import type { ImitatedServer } from './imitation';
import { readNode } from './protocol-parts';
import type { Snapshot } from './snapshot';

/** What a stream needs from the server it belongs to. */
export interface AdsStreamHost {
  readonly identifier: string;
  /** Whether clients that understand the `Resource` wrapper get it. */
  readonly wrapResources: boolean;
  /** The server that requests are treated as by. */
  readonly imitate: ImitatedServer | undefined;
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number;
  /** What this node is to be told. */
  snapshotFor(node: ClientNode): Snapshot;
  onEvent(event: ClientEvent): void;
  onRequest(client: ClientIdentity, request: ClientRequest): void;
  onDeltaRequest(client: ClientIdentity, request: DeltaClientRequest): void;
  /** The stream is over and must not be used again. */
  onClosed(stream: DiscoveryStream): void;
}

/** What a stream is for. */
export interface StreamOptions<Request, Message> {
  /** Counts the streams of the server. */
  readonly streamId: number;
  /** The name of the gRPC method. */
  readonly method: string;
  /** The only type of the stream; undefined when each request says which it is about. */
  readonly typeUrl: string | undefined;
  /** Makes the variant of the protocol once the client has said who it is. */
  converse(start: ConversationStart): Conversation<Request, Message>;
}

/** A stream, whatever its variant. */
export interface DiscoveryStream {
  /** What the client and this server have said to each other; undefined before the first request. */
  describe(): ClientState | undefined;
  /** Sends what changed for this client. */
  onSnapshotChanged(): void;
  /** Sends what keeps the client's resources alive. */
  heartbeat(): void;
  /** Ends the stream with an error the client can read. */
  fail(code: status, details: string): void;
}

/** A stream whose client has said who it is. */
interface Introduced<Request, Message> {
  readonly client: ClientIdentity;
  readonly node: ClientNode;
  readonly connectedAtMs: number;
  readonly conversation: Conversation<Request, Message>;
}

/** One discovery stream: passes requests to the conversation and its answers back. */
export class AdsStream<Request extends AnyRequest, Message> implements DiscoveryStream {
  private introduced: Introduced<Request, Message> | undefined;
  private open = true;

  constructor(
    private readonly call: ServerDuplexStream<Request, Message>,
    private readonly options: StreamOptions<Request, Message>,
    private readonly host: AdsStreamHost,
  ) {
    call.on('data', (request: Request) => this.onRequest(request));
    call.on('end', () => this.end());
    call.on('cancelled', () => this.close());
    call.on('error', () => this.close());
    call.on('close', () => this.close());
  }

  describe(): ClientState | undefined {
    if (this.introduced === undefined) return undefined;
    const { client, connectedAtMs, conversation } = this.introduced;
    const { method } = this.options;
    return { ...client, method, connectedAtMs, types: conversation.describe() };
  }

  onSnapshotChanged(): void {
    if (this.introduced === undefined) return;
    const { client, node, conversation } = this.introduced;
    this.send(client, conversation.onSnapshot(this.host.snapshotFor(node)));
  }

  heartbeat(): void {
    if (this.introduced === undefined || !this.open) return;
    const { client, conversation } = this.introduced;
    const heartbeats = conversation.heartbeats();
    for (const { message } of heartbeats) this.call.write(message);
    for (const { typeUrl, names } of heartbeats) {
      this.host.onEvent({ kind: 'heartbeat', client, typeUrl, names });
    }
  }

  fail(code: status, details: string): void {
    if (!this.open) return;
    this.close();
    this.call.emit('error', { code, details });
  }

  private onRequest(request: Request): void {
    if (!this.open) return;
    const typeUrl = request.typeUrl === '' ? (this.options.typeUrl ?? '') : request.typeUrl;
    const problem = this.findTypeProblem(typeUrl);
    if (problem !== undefined) {
      this.fail(status.INVALID_ARGUMENT, problem);
      return;
    }
    const { client, conversation } = this.introduced ?? this.introduce(request.node);
    const { verdict, subscribed, responses } = conversation.onRequest({ ...request, typeUrl });
    const events: ClientEvent[] = [];
    if (verdict !== undefined) events.push({ ...verdict, client, typeUrl });
    if (subscribed !== undefined) {
      const { subscribed: names, wildcard } = subscribed;
      events.push({ kind: 'subscribed', client, typeUrl, names, wildcard });
    }
    this.send(client, responses, events);
  }

  private findTypeProblem(typeUrl: string): string | undefined {
    if (typeUrl === '') return 'type_url: field not present';
    const { typeUrl: only, method } = this.options;
    if (only === undefined || only === typeUrl) return undefined;
    return `type_url: ${method} is for ${only}, not ${typeUrl}`;
  }

  private introduce(message: Node | undefined): Introduced<Request, Message> {
    const { host } = this;
    const node = readNode(message ?? Node.create());
    const client = { streamId: this.options.streamId, nodeId: node.id, peer: this.call.getPeer() };
    const conversation = this.options.converse({
      snapshot: host.snapshotFor(node),
      identifier: host.identifier,
      wrapResources: host.wrapResources,
      imitate: host.imitate,
      clientFeatures: new Set(node.clientFeatures),
      onRequest: (request) => host.onRequest(client, request),
      onDeltaRequest: (request) => host.onDeltaRequest(client, request),
    });
    this.introduced = { client, node, connectedAtMs: host.now(), conversation };
    host.onEvent({ kind: 'connected', client });
    return this.introduced;
  }

  /**
   * Writes responses, then tells observers: of `earlier`, and of the responses. Not before, as an
   * observer that sets a snapshot would have its responses overtake these.
   */
  private send(
    client: ClientIdentity,
    responses: readonly Outgoing<Message>[],
    earlier: readonly ClientEvent[] = [],
  ): void {
    // An observer may have stopped the server in the meantime.
    if (!this.open) return;
    for (const { message } of responses) this.call.write(message);
    for (const event of earlier) this.host.onEvent(event);
    for (const { typeUrl, version, names, removed, failed } of responses) {
      this.host.onEvent({ kind: 'sent', client, typeUrl, version, names, removed, failed });
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
