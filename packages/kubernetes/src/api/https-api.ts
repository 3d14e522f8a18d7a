import type { IncomingMessage } from 'node:http';
import type { ApiAccess } from './api-access';
import { refused, unanswered, unreadable } from './api-failure';
import { BoundedLines } from './bounded-lines';
import { Connections, Exchange } from './exchange';
import type {
  ApiAnswer,
  ApiFailure,
  ApiRequest,
  KubernetesApi,
  WatchListener,
} from './kubernetes-api';
import { MAX_ERROR_BYTES, MAX_LIST_BYTES, MAX_OBJECT_BYTES, MAX_VALUES } from './api-limits';
import { parseBoundedJson } from '../../../../src/util/bounded-json';
import { ByteCollector } from '../../../../src/util/bytes';
import type { Clock } from '../../../../src/util/clock';
import { errorMessage } from '../../../../src/util/errors';
import type { Handle } from '../../../../src/util/handle';
import { err, ok, type Result } from '../../../../src/util/result';

/** Milliseconds without a byte of a list. */
const LIST_SILENCE_MS = 30_000;
/** Milliseconds that a page of a list may take, however slowly it comes. */
const LIST_LONGEST_MS = 120_000;
/**
 * Milliseconds without a byte of a watch. The API server sends a bookmark every minute, also if nothing changes: a connection
 * that is silent for longer may be one that a firewall has forgotten.
 */
const WATCH_SILENCE_MS = 90_000;

export interface HttpsApiOptions {
  readonly access: ApiAccess;
  readonly clock: Clock;
}

/** The API server of a cluster over HTTPS. */
export class HttpsApi implements KubernetesApi {
  readonly address: string;
  private readonly connections = new Connections();

  constructor(private readonly options: HttpsApiOptions) {
    this.address = options.access.address;
  }

  /** Closes the connections. */
  close(): void {
    this.connections.close();
  }

  call(request: ApiRequest, onAnswer: (answer: Result<ApiAnswer, ApiFailure>) => void): Handle {
    return new Call(this.environment(), request, onAnswer);
  }

  watch(request: ApiRequest, listener: WatchListener): Handle {
    return new Watch(this.environment(), request, listener);
  }

  private environment(): Environment {
    return { ...this.options, connections: this.connections };
  }
}

interface Environment extends HttpsApiOptions {
  readonly connections: Connections;
}

/** A request whose answer is read as a whole. */
class Call implements Handle {
  private exchange: Handle;
  private body = new ByteCollector(MAX_LIST_BYTES);
  private head: IncomingMessage | undefined;
  /** Whether the credentials have been read again for this request. */
  private hasReloaded = false;

  constructor(
    private readonly environment: Environment,
    private readonly request: ApiRequest,
    private readonly onAnswer: (answer: Result<ApiAnswer, ApiFailure>) => void,
  ) {
    this.exchange = this.open();
  }

  release(): void {
    this.exchange.release();
  }

  private open(): Handle {
    const { request, environment } = this;
    return new Exchange({
      ...environment,
      request,
      silenceMs: LIST_SILENCE_MS,
      longestMs: LIST_LONGEST_MS,
      listener: {
        onHead: (response) => this.onHead(response),
        onBytes: (chunk) => this.onBytes(chunk),
        onEnd: () => this.onEnd(),
        onFailure: (message) => this.onAnswer(err(unanswered(message))),
      },
    });
  }

  private onHead(response: IncomingMessage): void {
    this.head = response;
    const isRefused = !isSuccess(response);
    this.body = new ByteCollector(isRefused ? MAX_ERROR_BYTES : MAX_LIST_BYTES);
  }

  private onBytes(chunk: Buffer): void {
    const hasRoom = this.body.add(chunk);
    if (hasRoom || this.head === undefined || !isSuccess(this.head)) return;
    this.release();
    this.onAnswer(err(unanswered(`an answer of more than ${MAX_LIST_BYTES} bytes`)));
  }

  private onEnd(): void {
    const { head, body, environment } = this;
    if (head === undefined) return;
    if (head.statusCode === 401 && !this.hasReloaded) {
      this.hasReloaded = true;
      environment.access.reload();
      this.exchange = this.open();
      return;
    }
    if (!isSuccess(head)) return this.onAnswer(err(failureOf(head, body)));
    this.read(body.bytes.toString('utf8'), head.statusCode ?? 200);
  }

  private read(text: string, status: number): void {
    let json: unknown;
    try {
      json = parseBoundedJson(text, { maxLength: Infinity, maxValues: MAX_VALUES });
    } catch (error) {
      this.onAnswer(err(unanswered(`an answer that cannot be read: ${errorMessage(error)}`)));
      return;
    }
    this.onAnswer(ok({ status, body: json }));
  }
}

/** A request whose answer is a stream of events. */
class Watch implements Handle {
  private readonly exchange: Handle;
  private head: IncomingMessage | undefined;
  private readonly errorBody = new ByteCollector(MAX_ERROR_BYTES);
  private readonly lines: BoundedLines;
  private isOver = false;

  constructor(
    private readonly environment: Environment,
    request: ApiRequest,
    private readonly listener: WatchListener,
  ) {
    this.lines = new BoundedLines(MAX_OBJECT_BYTES, {
      onLine: (text) => this.onLine(text),
      onLongLine: () => listener.onOversized(),
    });
    this.exchange = new Exchange({
      ...environment,
      request,
      silenceMs: WATCH_SILENCE_MS,
      listener: {
        onHead: (response) => this.onHead(response),
        onBytes: (chunk) => this.onBytes(chunk),
        onEnd: () => this.onEnd(),
        onFailure: (message) => this.end(unanswered(message)),
      },
    });
  }

  release(): void {
    this.isOver = true;
    this.exchange.release();
  }

  private onHead(response: IncomingMessage): void {
    this.head = response;
    if (isSuccess(response)) this.listener.onOpen();
  }

  private onBytes(chunk: Buffer): void {
    if (this.head === undefined || !isSuccess(this.head)) this.errorBody.add(chunk);
    else this.lines.add(chunk, () => this.isOver);
  }

  private onLine(text: string): void {
    let json: unknown;
    try {
      json = parseBoundedJson(text, { maxLength: Infinity, maxValues: MAX_VALUES });
    } catch (error) {
      this.end(unreadable(`an event that cannot be read: ${errorMessage(error)}`));
      return;
    }
    this.listener.onEvent(json);
  }

  private onEnd(): void {
    const { head } = this;
    if (head === undefined || isSuccess(head)) return this.end(undefined);
    if (head.statusCode === 401) this.environment.access.reload();
    this.end(failureOf(head, this.errorBody));
  }

  private end(failure: ApiFailure | undefined): void {
    if (this.isOver) return;
    this.release();
    this.listener.onEnd(failure);
  }
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function failureOf({ statusCode = 0, headers }: IncomingMessage, body: ByteCollector): ApiFailure {
  return refused(statusCode, readStatus(body.bytes.toString('utf8')), headers['retry-after']);
}

/** A proxy in between answers with a page of its own, of which nothing is shown. */
function readStatus(text: string): unknown {
  try {
    return parseBoundedJson(text, { maxLength: Infinity, maxValues: MAX_VALUES });
  } catch {
    return undefined;
  }
}
