import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { RELAY_INSPECT_PATH } from '../../../../src/util/relay-names';
import { connectError } from '../../../../src/util/unix-socket';
import { StatusCode, statusName } from '../../../../src/util/status-code';
import { IDENTITY_REQUEST, parseRelayIdentity, type KnownRelay } from '../relay-identity';

/** Why a link has ended. */
export type LinkEnd =
  /** Nothing listens at the path. */
  | { readonly kind: 'absent' }
  /** The path cannot be connected to, or what listens there is no relay. */
  | { readonly kind: 'unusable'; readonly reason: string }
  /** The connection has ended, as it does with the process of a relay. */
  | { readonly kind: 'ended' };

/** Receives the events of a link: at most one relay, and its end, unless it was closed. */
export interface LinkHandler {
  onIdentified(relay: KnownRelay): void;
  onEnd(end: LinkEnd): void;
}

const REQUEST = {
  ':method': 'POST',
  ':path': RELAY_INSPECT_PATH,
  'content-type': 'application/grpc',
  te: 'trailers',
};

type AnswerHeaders = IncomingHttpHeaders & {
  readonly ':status'?: number;
  readonly 'grpc-status'?: string;
};

/** Bytes of an answer: an older relay describes its clients in it. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** A flag and a length precede a message of gRPC. */
const PREFIX_BYTES = 5;
/** The status codes of a relay; UNAVAILABLE of one that ends. */
const POSSIBLE: readonly number[] = [StatusCode.OK, StatusCode.UNAVAILABLE];
const RELAY_ADVICE = 'end it, or choose another path';

/**
 * A connection to the socket of a relay, which ends at once with the process of the relay. It asks for the identity of the relay by
 * the method `Inspect`, and has nothing else to send from then on. It does not keep the process alive.
 */
export class RelayLink {
  private readonly session: ReturnType<typeof connectHttp2>;
  private end: LinkEnd | undefined;
  private isClosed = false;

  constructor(
    private readonly path: string,
    private readonly handler: LinkHandler,
  ) {
    const socket = connect({ path }).unref();
    this.session = connectHttp2('http://localhost', { createConnection: () => socket });
    this.session.on('error', (error: NodeJS.ErrnoException) => this.onError(error));
    this.session.once('close', () => {
      if (!this.isClosed) this.handler.onEnd(this.end ?? { kind: 'ended' });
    });
    // What ends is no relay any more, before its connections end.
    this.session.once('goaway', () => this.session.destroy());
    this.identify();
  }

  /** Closes the connection without a call to the handler. */
  close(): void {
    this.isClosed = true;
    this.session.destroy();
  }

  private identify(): void {
    const stream = this.session.request(REQUEST);
    const chunks: Buffer[] = [];
    let length = 0;
    let status: string | undefined;
    const onHeaders = (headers: AnswerHeaders) => {
      status ??= headers['grpc-status'];
      const problem = problemOf(headers);
      if (problem !== undefined) this.fail(problem);
    };
    stream.on('response', onHeaders);
    stream.on('trailers', onHeaders);
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_ANSWER_BYTES) chunks.push(chunk);
    });
    // With a connection that ends, a stream ends without a status.
    stream.once('end', () => this.onAnswer(status, Buffer.concat(chunks)));
    // The end of the session says why.
    stream.on('error', () => {});
    stream.end(frame(IDENTITY_REQUEST));
  }

  private onAnswer(status: string | undefined, bytes: Buffer): void {
    if (this.isClosed || this.session.destroyed) return;
    if (status !== String(StatusCode.OK)) {
      this.session.destroy();
      return;
    }
    const relay = parseRelayIdentity(bytes.subarray(PREFIX_BYTES));
    if (relay !== undefined) {
      this.hold();
      this.handler.onIdentified(relay);
    } else this.fail('its answer is not that of a relay');
  }

  /** Opens a request that does not end: a relay closes connections that have no stream for a minute. */
  private hold(): void {
    const stream = this.session.request(REQUEST);
    stream.on('error', () => {});
    stream.resume();
  }

  private onError(error: NodeJS.ErrnoException): void {
    if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') this.end ??= { kind: 'absent' };
    else if (error.syscall === 'connect') {
      // While more connections wait than the socket takes, as when many processes start at once, it is tried again.
      if (error.code === 'EAGAIN') this.end ??= { kind: 'ended' };
      else this.end ??= { kind: 'unusable', reason: connectError(this.path, error).message };
    } else if (error.code === 'ERR_HTTP2_ERROR') this.fail('it does not speak HTTP/2');
  }

  private fail(cause: string): void {
    const reason = `${this.path}: the process that listens there is no relay of grpc-xds (${cause}): ${RELAY_ADVICE}`;
    this.end ??= { kind: 'unusable', reason };
    this.session.destroy();
  }
}

/** Returns why an answer with these headers or trailers is not that of a relay; `undefined` if it may be. */
function problemOf({ ':status': http = 200, ...headers }: AnswerHeaders): string | undefined {
  if (http !== 200) return `it answered with the HTTP status ${http}`;
  const { 'content-type': type = 'application/grpc', 'grpc-status': code } = headers;
  if (!type.startsWith('application/grpc')) return 'it does not speak gRPC';
  const isPossible = code === undefined || POSSIBLE.includes(Number(code));
  return isPossible ? undefined : `it answered with ${statusName(Number(code))}`;
}

function frame(text: string): Buffer {
  const bytes = Buffer.from(text);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}
