import { status } from '@grpc/grpc-js';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import type { Clock } from '../../util/clock';
import {
  findNodeProblem,
  identityOf,
  readNode,
  type ClientStream,
  type ClientNode,
  type ClientEvent,
  type ClientState,
} from '../client-state';
import { ServerStream, type StreamCall } from '../server-stream';
import type { UnreadBytes, UnreadStream } from '../unread-bytes';
import type {
  AnyRequest,
  ProtocolSettings,
  ProtocolVariant,
  StreamProtocol,
} from './protocol-variants';
import type { ResourceView, ViewChanges } from './resource-view';
import type { PlannedResponse } from './subscriptions';

/** The settings and callbacks that all streams of a server share. */
export interface AdsStreamContext {
  readonly settings: ProtocolSettings;
  readonly clock: Clock;
  readonly view: ResourceView;
  /** Absent if nothing listens. */
  readonly onEvent: ((event: ClientEvent) => void) | undefined;
  /**
   * Resets the HTTP/2 stream of a call. Without it, the bytes that clients have not read are bounded for each stream, and not
   * for all together.
   */
  readonly reset?: (call: object) => void;
}

export interface AdsStreamOptions<Request extends AnyRequest, Response> {
  /** Number of the stream. */
  readonly streamId: number;
  /** Name of the gRPC method. */
  readonly method: string;
  /** The only type of the stream; undefined for aggregated streams. */
  readonly typeUrl: string | undefined;
  readonly variant: ProtocolVariant<Request, Response>;
  /** Called once, when the stream has ended. */
  readonly onClosed: () => void;
  /** What all clients have not read. */
  readonly unread: UnreadBytes | undefined;
}

/** A discovery stream of either variant. */
export interface DiscoveryStream {
  /** Address of the client. */
  readonly peer: string;
  /** Returns the state of the client; undefined before the first request. */
  describe(): ClientState | undefined;
  /** Sends the changes of the client's resources. */
  onViewChanged(changes: ViewChanges): void;
  /** Renews the time to live of the resources last sent. */
  heartbeat(): void;
  /** Ends the stream with an error status. */
  fail(code: number, details: string): void;
  /** Ends the stream with OK. */
  end(): void;
}

/** The state of a stream after its first request, which holds the node. */
interface IdentifiedClient<Request, Response> {
  readonly client: ClientStream;
  readonly node: ClientNode;
  readonly connectedAtMs: number;
  readonly protocol: StreamProtocol<Request, Response>;
}

/** The server's end of one discovery stream. */
export class AdsStream<Request extends AnyRequest, Response>
  implements DiscoveryStream, UnreadStream
{
  private readonly stream: ServerStream<Request, Response>;
  private identified: IdentifiedClient<Request, Response> | undefined;
  /** Whether a change of the resources waits until the client reads. Several become one. */
  private isOutdated = false;
  private hasResponded = false;

  constructor(
    private readonly call: StreamCall<Request, Response>,
    private readonly options: AdsStreamOptions<Request, Response>,
    private readonly context: AdsStreamContext,
  ) {
    const listener = {
      onRequest: (request: Request) => this.onRequest(request),
      onUnblocked: () => {
        options.unread?.remove(this);
        if (this.isOutdated) this.onViewChanged();
      },
      onClosed: () => this.onClosed(),
    };
    this.stream = new ServerStream(call, listener, context.clock);
  }

  get peer(): string {
    return this.stream.peer;
  }

  describe(): ClientState | undefined {
    if (this.identified === undefined) return undefined;
    const { client, node, connectedAtMs, protocol } = this.identified;
    const { method } = this.options;
    return { ...client, method, connectedAtMs, node, types: protocol.subscriptions.describe() };
  }

  onViewChanged(changes?: ViewChanges): void {
    if (this.identified === undefined) return;
    this.isOutdated = this.stream.isBlocked;
    if (this.isOutdated) return;
    const { node, protocol } = this.identified;
    const responses = protocol.subscriptions.onChanged(
      this.context.view.resourcesFor(node),
      changes,
    );
    this.send(this.identified, responses);
    this.endIfOut(this.identified);
  }

  heartbeat(): void {
    // Not because one waits: its resources need not be those that expire.
    const { isOpen, isFull } = this.stream;
    if (this.identified === undefined || !isOpen || isFull) return;
    const { client, protocol } = this.identified;
    const heartbeats = protocol.hasTtl ? protocol.subscriptions.heartbeats() : [];
    for (const heartbeat of heartbeats) this.stream.write(protocol.encodeHeartbeat(heartbeat));
    for (const { typeUrl, resources } of heartbeats) {
      this.context.onEvent?.({ kind: 'heartbeat', client, typeUrl, names: namesOf(resources) });
    }
  }

  fail(code: number, details: string): void {
    this.stream.fail(code, details);
  }

  end(): void {
    this.stream.end();
  }

  reset(): void {
    this.context.reset?.(this.call);
  }

  private onRequest(request: Request): void {
    const typeUrl = request.typeUrl === '' ? (this.options.typeUrl ?? '') : request.typeUrl;
    const problem = this.findTypeProblem(typeUrl);
    if (problem !== undefined) {
      this.fail(status.INVALID_ARGUMENT, problem);
      return;
    }
    const identified = this.identified ?? this.identify(request.node);
    if (identified === undefined) return;
    const { client, node, protocol } = identified;
    const excess = protocol.findExcess({ ...request, typeUrl });
    if (excess !== undefined) {
      this.fail(status.RESOURCE_EXHAUSTED, excess);
      return;
    }
    const { acknowledgement, subscribed, response } = protocol.onRequest({ ...request, typeUrl });
    const refusal = subscribed && this.context.view.findRefusal?.(typeUrl, subscribed, node);
    if (refusal !== undefined) {
      this.fail(refusal.code, refusal.details);
      return;
    }
    const events: ClientEvent[] = [];
    if (acknowledgement !== undefined) events.push({ ...acknowledgement, client, typeUrl });
    if (subscribed !== undefined)
      events.push({ kind: 'subscribed', client, typeUrl, ...subscribed });
    this.send(identified, response === undefined ? [] : [response], events);
    this.endIfOut(identified);
  }

  /** Ends the stream if it is of no use now, as the server would whose resources these are. A client may have others. */
  private endIfOut({ node, protocol }: IdentifiedClient<Request, Response>): void {
    const { view } = this.context;
    if (this.hasResponded || view.findOutage === undefined) return;
    const outage = view.findOutage(protocol.subscriptions.describe().values(), node);
    if (outage !== undefined) this.fail(status.UNAVAILABLE, outage);
  }

  private findTypeProblem(typeUrl: string): string | undefined {
    if (typeUrl === '') return 'type_url: field not present';
    const { typeUrl: only, method } = this.options;
    if (only === undefined || only === typeUrl) return undefined;
    return `type_url: ${method} is for ${only}, not ${typeUrl}`;
  }

  /** Reads the node. Ends the stream if it is refused. */
  private identify(message: Node | undefined): IdentifiedClient<Request, Response> | undefined {
    const { context, options, stream } = this;
    const problem = findNodeProblem(message);
    if (problem !== undefined) {
      this.fail(status.RESOURCE_EXHAUSTED, problem);
      return undefined;
    }
    const node = readNode(message, stream.principal);
    const client = identityOf(stream, options.streamId, node.id);
    const refusal = context.view.open?.(node, client);
    if (refusal !== undefined) {
      this.fail(refusal.code, refusal.details);
      return undefined;
    }
    const { settings } = context;
    const protocol = options.variant.createProtocol({
      ...settings,
      resources: context.view.resourcesFor(node),
      features: new Set(node.clientFeatures),
    });
    this.identified = { client, node, connectedAtMs: context.clock.now(), protocol };
    context.onEvent?.({ kind: 'connected', client });
    return this.identified;
  }

  /**
   * Writes responses, then reports `earlier` and the responses as events. A callback that sets a snapshot must not send
   * its responses before these.
   */
  private send(
    { client, protocol }: IdentifiedClient<Request, Response>,
    responses: readonly PlannedResponse[],
    earlier: readonly ClientEvent[] = [],
  ): void {
    // A callback may have stopped the server.
    if (!this.stream.isOpen) return;
    for (const response of responses) {
      this.options.unread?.add(this, bytesOf(response));
      this.stream.write(protocol.encode(response));
    }
    if (responses.length > 0) this.hasResponded = true;
    for (const event of earlier) this.context.onEvent?.(event);
    for (const { typeUrl, version, resources, removed, errors } of responses) {
      const [names, failed] = [namesOf(resources), namesOf(errors)];
      this.context.onEvent?.({ kind: 'sent', client, typeUrl, version, names, removed, failed });
    }
  }

  private onClosed(): void {
    this.options.onClosed();
    this.options.unread?.remove(this);
    if (this.identified === undefined) return;
    this.context.onEvent?.({ kind: 'disconnected', client: this.identified.client });
  }
}

function bytesOf({ resources }: PlannedResponse): number {
  return resources.reduce((sum, { value }) => sum + value.length, 0);
}

function namesOf(items: readonly { readonly name: string }[]): readonly string[] {
  return items.map(({ name }) => name);
}
