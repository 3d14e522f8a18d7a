import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { ApiAccess, ApiCredentials } from './api-access';
import type { ApiRequest } from './kubernetes-api';
import type { Clock } from '../../../../src/util/clock';
import { errorMessage } from '../../../../src/util/errors';
import type { Handle } from '../../../../src/util/handle';
import { inSeconds } from '../../../../src/util/duration';
import { afterRunning } from '../../../../src/util/running-time';

/** Receives what comes of a request. One of the two last functions is called in the end. */
export interface ExchangeListener {
  onHead(response: IncomingMessage): void;
  onBytes(chunk: Buffer): void;
  /** The whole body has been received. */
  onEnd(): void;
  /** The request has failed. */
  onFailure(message: string): void;
}

/** Milliseconds until the head of an answer, those that a plugin for credentials takes included. */
const HEAD_TIMEOUT_MS = 30_000;
/** Milliseconds of silence on a connection after which the other end is probed. */
const KEEPALIVE_MS = 30_000;

/** The connections to an API server. Requests that need the same TLS options share them. */
export class Connections {
  private readonly https = new Agent({ keepAlive: true });
  private readonly http = new HttpAgent({ keepAlive: true });

  /** Sends a request. @throws if it cannot be sent, such as for a token that no header can have. */
  send(access: ApiAccess, request: ApiRequest, credentials: ApiCredentials): ClientRequest {
    const url = new URL(`${access.address}${request.path}`);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      url.searchParams.set(name, value);
    }
    const isTls = url.protocol === 'https:';
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const options = {
      ...credentials.options,
      ...(!access.hasProxy && { agent: isTls ? this.https : this.http }),
      method: request.method ?? 'GET',
      headers: { ...credentials.headers, ...headersOf(request, body) },
    };
    const sent = isTls ? httpsRequest(url, options) : httpRequest(url, options);
    sent.setSocketKeepAlive(true, KEEPALIVE_MS);
    sent.end(body);
    return sent;
  }

  close(): void {
    this.https.destroy();
    this.http.destroy();
  }
}

function headersOf(request: ApiRequest, body: string | undefined): Record<string, string> {
  const json = 'application/json';
  return {
    Accept: request.accept ?? json,
    'User-Agent': 'grpc-xds',
    ...(body !== undefined && {
      'Content-Type': request.contentType ?? json,
      'Content-Length': String(Buffer.byteLength(body)),
    }),
  };
}

export interface ExchangeOptions {
  readonly access: ApiAccess;
  readonly connections: Connections;
  readonly request: ApiRequest;
  readonly clock: Clock;
  /** Milliseconds without a byte after which an answer that has begun is given up. */
  readonly silenceMs: number;
  /** Milliseconds after which an answer that has begun must be complete. Default: it need not end. */
  readonly longestMs?: number;
  readonly listener: ExchangeListener;
}

/** One request and its answer. Nothing is called after `release`. */
export class Exchange implements Handle {
  private isOver = false;
  private sent: ClientRequest | undefined;
  private hasHead = false;
  /** Until the head, then until the next byte. */
  private timer: Handle;
  /** Until the answer must be complete. */
  private limit: Handle | undefined;

  constructor(private readonly options: ExchangeOptions) {
    const late = () => this.fail(`no answer within ${inSeconds(HEAD_TIMEOUT_MS)}`);
    this.timer = afterRunning(options.clock, late, HEAD_TIMEOUT_MS);
    this.start();
  }

  release(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.timer.release();
    this.limit?.release();
    this.sent?.destroy();
  }

  private start(): void {
    this.options.access.credentials().then(
      (credentials) => this.send(credentials),
      (error: unknown) => this.fail(`no credentials: ${errorMessage(error)}`),
    );
  }

  private send(credentials: ApiCredentials): void {
    if (this.isOver) return;
    const { connections, access, request } = this.options;
    try {
      this.sent = connections.send(access, request, credentials);
    } catch (error) {
      this.fail(errorMessage(error));
      return;
    }
    this.sent.on('response', (response) => this.onResponse(response));
    this.sent.on('error', (error) => this.onError(error));
  }

  private onError(error: NodeJS.ErrnoException): void {
    const { sent } = this;
    // A connection that was kept may be closed just when it is used again: the request goes on another one.
    const wasClosed = sent?.reusedSocket === true && error.code === 'ECONNRESET';
    if (wasClosed && !this.hasHead && !this.isOver) this.start();
    else this.fail(errorMessage(error));
  }

  private onResponse(response: IncomingMessage): void {
    if (this.isOver) return;
    this.hasHead = true;
    const { clock, listener, longestMs } = this.options;
    if (longestMs !== undefined) {
      const late = () => this.fail(`not complete within ${inSeconds(longestMs)}`);
      this.limit = afterRunning(clock, late, longestMs);
    }
    this.awaitBytes();
    response.on('data', (chunk: Buffer) => {
      if (this.isOver) return;
      this.awaitBytes();
      listener.onBytes(chunk);
    });
    response.on('close', () => this.onClose(response.complete));
    response.on('error', (error) => this.fail(errorMessage(error)));
    listener.onHead(response);
  }

  private onClose(isComplete: boolean): void {
    if (this.isOver) return;
    if (!isComplete) return this.fail('the connection was closed in the middle of an answer');
    this.release();
    this.options.listener.onEnd();
  }

  private awaitBytes(): void {
    const { clock, silenceMs } = this.options;
    this.timer.release();
    const silent = () => this.fail(`nothing received for ${inSeconds(silenceMs)}`);
    this.timer = afterRunning(clock, silent, silenceMs);
  }

  private fail(message: string): void {
    if (this.isOver) return;
    this.release();
    this.options.listener.onFailure(message);
  }
}
