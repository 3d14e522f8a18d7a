import { once } from 'node:events';
import {
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  Snapshot,
} from '../../src/control-plane';
import type { MeshResources } from '../support/mesh';
import { DeltaTalk, SotwTalk, type AdsTalk, type HeldResource, type TalkHost } from './ads-talk';

/** What a server does with streams. */
export type Reception =
  | { readonly kind: 'serve' }
  /** They are taken and get no answer. */
  | { readonly kind: 'silence' }
  /** Each request is answered with what is no message. */
  | { readonly kind: 'garbage' }
  /** As of a proxy that finds no server: what is answered is not gRPC. */
  | { readonly kind: 'http'; readonly status: number }
  | { readonly kind: 'refuse'; readonly code: number; readonly details: string };

/** How a server behaves; a fault changes it. */
export interface Manners {
  readonly reception: Reception;
  /** This and the next four: see `TalkHost`. */
  readonly paddingBytes: number;
  readonly isWithheld: TalkHost['isWithheld'];
  readonly isDeaf: TalkHost['isDeaf'];
  readonly ignoresRejections: boolean;
  readonly resendsRejected: boolean;
  /** Makes resources for which nobody asked. */
  readonly uncalledFor: MeshResources | undefined;
  /** Whether streams end with status OK after the first response. */
  readonly endsSoon: boolean;
  /** Whether streams are reset (RST_STREAM) in the middle of the first response. */
  readonly breaksOff: boolean;
}

const GOOD_MANNERS: Manners = {
  reception: { kind: 'serve' },
  paddingBytes: 0,
  isWithheld: () => false,
  isDeaf: () => false,
  ignoresRejections: false,
  resendsRejected: false,
  uncalledFor: undefined,
  endsSoon: false,
  breaksOff: false,
};

const DELTA_PATH =
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';

/** A stream. */
interface Visit {
  readonly stream: ServerHttp2Stream;
  readonly talk: AdsTalk;
  /** Requests that were met with silence. */
  readonly unread: Uint8Array[];
}

/**
 * A management server on bare HTTP/2, in both variants of the protocol, that can be made to do what none should:
 * versions and nonces are numbers that begin with 1 again after `forget`, streams are refused, half a message is
 * sent.
 */
export class UnreliableServer {
  private readonly http: Http2Server = createServer();
  private readonly sessions = new Set<ServerHttp2Session>();
  private readonly visits = new Set<Visit>();
  private held = new Map<string, Map<string, HeldResource>>();
  private manners = GOOD_MANNERS;
  private version = 0;
  private nonce = 0;
  port = 0;
  /** Streams there have been. */
  streams = 0;
  /** Requests there have been. */
  requests = 0;
  /** Those of them that rejected something. */
  rejections = 0;
  /** Streams opened since the last answer. */
  sinceAnswer = 0;

  /** @param onAnswer Told of each response. */
  constructor(private readonly onAnswer: () => void) {
    this.http.on('session', (session) => {
      this.sessions.add(session);
      session.on('close', () => this.sessions.delete(session));
      session.on('error', () => {});
    });
    this.http.on('stream', (stream, headers) => this.accept(stream, String(headers[':path'])));
  }

  /** Listens on the loopback interface. */
  async start(): Promise<void> {
    this.http.listen(0, '127.0.0.1');
    await once(this.http, 'listening');
    const address = this.http.address() as AddressInfo;
    this.port = address.port;
  }

  stop(): void {
    this.http.close();
    for (const session of this.sessions) session.destroy();
  }

  /** What is not given is good manners. */
  behave(manners: Partial<Manners> = {}): void {
    this.manners = { ...GOOD_MANNERS, ...manners };
    for (const visit of this.visits) this.answer(visit);
  }

  /** Replaces all resources and sends what changed. Those that did not change keep their versions. */
  serve(resources: MeshResources): void {
    this.version++;
    this.held = this.holdAll(resources);
    this.push();
  }

  /** Sends to each stream what it was not sent yet. */
  push(): void {
    for (const { talk } of this.visits) talk.push();
  }

  /** Sends a type once more to each stream. */
  pushAgain(typeUrl: string): void {
    for (const { talk } of this.visits) talk.pushAgain(typeUrl);
  }

  /** Ends all streams and counts versions and nonces from 1 again, as a restart does. Nothing is served after that. */
  forget(): void {
    this.endStreams();
    this.visits.clear();
    this.held.clear();
    this.version = 0;
    this.nonce = 0;
  }

  /** Ends all streams with UNAVAILABLE. */
  endStreams(): void {
    for (const { stream } of this.visits) endWith(stream, 14, 'ended by the server');
  }

  /** Says GOAWAY on each connection, and ends its streams. */
  sayGoodbye(code: number): void {
    for (const session of this.sessions) {
      if (session.destroyed) continue;
      session.goaway(code);
      session.close();
    }
    this.endStreams();
  }

  private holdAll(resources: MeshResources): Map<string, Map<string, HeldResource>> {
    const snapshot = Snapshot.from(resources);
    const all = new Map<string, Map<string, HeldResource>>();
    for (const kind of [clusterKind, endpointKind, listenerKind, routeKind]) {
      const before = this.held.get(kind.typeUrl);
      const byName = [...snapshot.set(kind).byName.values()].map(({ name, value, digest }) => {
        const old = before?.get(name);
        const version = old?.digest === digest ? old.version : String(this.version);
        return [name, { name, value, digest, version }] as const;
      });
      all.set(kind.typeUrl, new Map(byName));
    }
    return all;
  }

  private accept(stream: ServerHttp2Stream, path: string): void {
    this.streams++;
    this.sinceAnswer++;
    stream.on('error', () => {});
    const { reception } = this.manners;
    if (reception.kind === 'http') {
      stream.respond({ ':status': reception.status, 'content-type': 'text/html' });
      stream.end('<h1>no healthy upstream</h1>');
      return;
    }
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc+proto' },
      { waitForTrailers: true },
    );
    if (reception.kind === 'refuse') {
      endWith(stream, reception.code, reception.details);
      return;
    }
    const host = this.createHost(stream);
    const talk = path === DELTA_PATH ? new DeltaTalk(host) : new SotwTalk(host);
    const visit: Visit = { stream, talk, unread: [] };
    this.visits.add(visit);
    stream.on('close', () => this.visits.delete(visit));
    readMessages(stream, (bytes) => {
      this.requests++;
      visit.unread.push(bytes);
      this.answer(visit);
    });
  }

  private answer({ stream, talk, unread }: Visit): void {
    const { kind } = this.manners.reception;
    if (kind === 'silence') return;
    for (const bytes of unread.splice(0)) {
      if (kind === 'garbage') stream.write(frame(Buffer.alloc(100, 0xff)));
      else talk.onRequest(bytes);
    }
  }

  private createHost(stream: ServerHttp2Stream): TalkHost {
    return {
      held: (typeUrl) => this.held.get(typeUrl) ?? new Map(),
      version: () => String(this.version),
      nextNonce: () => String(++this.nonce),
      paddingBytes: () => this.manners.paddingBytes,
      isWithheld: (typeUrl, name) => this.manners.isWithheld(typeUrl, name),
      uncalledFor: (typeUrl) => {
        const { uncalledFor } = this.manners;
        if (uncalledFor === undefined) return [];
        return [...(this.holdAll(uncalledFor).get(typeUrl)?.values() ?? [])];
      },
      isDeaf: (typeUrl) => this.manners.isDeaf(typeUrl),
      ignoresRejections: () => this.manners.ignoresRejections,
      resendsRejected: () => this.manners.resendsRejected,
      onRejected: () => this.rejections++,
      send: (bytes) => this.send(stream, bytes),
    };
  }

  private send(stream: ServerHttp2Stream, bytes: Uint8Array): void {
    if (stream.destroyed || stream.writableEnded) return;
    const message = frame(bytes);
    if (this.manners.breaksOff) {
      stream.write(message.subarray(0, message.length / 2), () =>
        stream.close(constants.NGHTTP2_INTERNAL_ERROR),
      );
      return;
    }
    stream.write(message);
    // What is made larger is so that it does not get through.
    if (this.manners.paddingBytes > 0) return;
    this.sinceAnswer = 0;
    this.onAnswer();
    if (this.manners.endsSoon) endWith(stream, 0, '');
  }
}

/** Puts a message into the frame that gRPC wants. */
function frame(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Ends a stream with a status. */
function endWith(stream: ServerHttp2Stream, code: number, details: string): void {
  if (stream.destroyed || stream.writableEnded) return;
  stream.once('wantTrailers', () =>
    stream.sendTrailers({ 'grpc-status': String(code), 'grpc-message': details }),
  );
  stream.end();
}

/** Takes the messages out of the frames that gRPC puts them in. */
function readMessages(stream: ServerHttp2Stream, onMessage: (bytes: Uint8Array) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      onMessage(rest.subarray(5, end));
      rest = rest.subarray(end);
    }
  });
}
