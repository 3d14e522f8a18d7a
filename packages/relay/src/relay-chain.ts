import { randomUUID } from 'node:crypto';
import {
  type AdmitStream,
  onCallEvent,
  type XdsStream,
  type XdsStreamHandler,
  type XdsTransport,
} from 'grpc-xds/internal';
import { asBuffer } from '../../../src/util/bytes';
import { StatusCode } from '../../../src/util/status-code';
import { findRing, formatPathHeaders, readPathHeaders, type RelayPath } from './relay-path';

/** The `control_plane.identifier` of the responses of a relay. */
export const RELAY_IDENTIFIER = 'grpc-xds relay';

/** Constructor options of a chain. */
export interface RelayChainOptions {
  /** Returns where the relay listens; empty if that is not known. */
  readonly address: () => string;
}

/**
 * The place of a relay among those below and above it: it sends the servers above it which relays its streams have passed, and
 * refuses a stream that has passed the relay itself, because relays in a ring wait for each other and serve each other what is
 * outdated.
 *
 * All clients share the streams to the servers above, so that the longest path of a client is sent. In a ring the path of each relay
 * becomes longer until it has the relay that receives it. A stream that was opened with a shorter one is replaced for that, unless its
 * server is known to be a control plane.
 */
export class RelayChain {
  private readonly id = randomUUID();
  /** The paths of the streams of clients that are relays. */
  private readonly below = new Map<object, RelayPath>();
  private readonly upstream = new Set<ChainedStream>();
  /** The servers above that are relays, by `server_uri`. */
  private readonly relaysAbove = new Set<string>();

  constructor(private readonly options: RelayChainOptions) {}

  /** Returns why a stream of a client is refused; `undefined` if it is not. */
  readonly admit: AdmitStream = (call) => {
    const path = call.metadata === undefined ? [] : readPathHeaders(call.metadata);
    const ring = findRing(path, this.own());
    if (ring !== undefined) return { code: StatusCode.FAILED_PRECONDITION, details: ring };
    if (path.length === 0) return undefined;
    this.below.set(call, path);
    for (const event of ['end', 'cancelled', 'error', 'close']) {
      onCallEvent('the clients of a relay', call, event, () => this.below.delete(call));
    }
    this.replaceStreams();
    return undefined;
  };

  /** Returns a transport to a server whose streams have the path of the relay. */
  chain(transport: XdsTransport, serverUri: string): XdsTransport {
    return {
      openStream: (method, handler) => {
        const path = this.path();
        const stream: ChainedStream = new ChainedStream(handler, {
          serverUri,
          pathLength: path.length,
          open: (events) => transport.openStream(method, events, formatPathHeaders(path)),
          onRelay: () => this.relaysAbove.add(serverUri),
          onEnd: () => this.upstream.delete(stream),
        });
        this.upstream.add(stream);
        return stream;
      },
      close: () => transport.close(),
    };
  }

  private replaceStreams(): void {
    const { length } = this.path();
    for (const stream of [...this.upstream]) {
      const isControlPlane = stream.hasResponded && !this.relaysAbove.has(stream.serverUri);
      if (stream.pathLength < length && !isControlPlane) stream.replace();
    }
  }

  private path(): RelayPath {
    let longest: RelayPath = [];
    for (const path of this.below.values()) if (path.length > longest.length) longest = path;
    return [...longest, this.own()];
  }

  private own() {
    return { id: this.id, pid: process.pid, address: this.options.address() };
  }
}

/** Constructor options of a stream. */
interface ChainedStreamOptions {
  readonly serverUri: string;
  /** Relays in the path that it was opened with. */
  readonly pathLength: number;
  readonly open: (handler: XdsStreamHandler) => XdsStream;
  /** Called when the server is found to be a relay. */
  readonly onRelay: () => void;
  /** Called once, when the stream has ended, from either side. */
  readonly onEnd: () => void;
}

/** A stream of a relay to a server above it. */
class ChainedStream implements XdsStream {
  private readonly stream: XdsStream;
  /** Whether the server has sent a message. */
  hasResponded = false;

  constructor(
    private readonly handler: XdsStreamHandler,
    private readonly options: ChainedStreamOptions,
  ) {
    this.stream = options.open({
      onSent: () => handler.onSent(),
      onMessage: (bytes) => {
        if (!this.hasResponded && asBuffer(bytes).includes(RELAY_IDENTIFIER)) options.onRelay();
        this.hasResponded = true;
        handler.onMessage(bytes);
      },
      onClosed: (status) => {
        options.onEnd();
        handler.onClosed(status);
      },
    });
  }

  get serverUri(): string {
    return this.options.serverUri;
  }

  get pathLength(): number {
    return this.options.pathLength;
  }

  send(bytes: Uint8Array): void {
    this.stream.send(bytes);
  }

  read(): void {
    this.stream.read();
  }

  halfClose(): void {
    this.stream.halfClose();
  }

  close(): void {
    this.options.onEnd();
    this.stream.close();
  }

  /** Ends the stream in a way that another one is opened at once. */
  replace(): void {
    this.close();
    const details = 'the stream is opened again for the relays of a client';
    this.handler.onClosed({ code: StatusCode.UNAVAILABLE, details, isSucceeded: true });
  }
}
