import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { CheckServerIdentity } from '../../grpc-js/host-internals';
import { checkHostName, serverCheckOf } from '../../security/peer/check-host-name';
import { tlsOptions, type TlsContextOptions } from '../../security/contexts/tls-options';
import type { CertificateWatch } from '../../security/providers/certificate-provider';
import type { WatchedCertificates } from '../../security/providers/watched-certificates';
import type { Clock } from '../../util/clock';
import { describeDuration } from '../../util/duration';
import { createHandle, type Handle } from '../../util/handle';
import { MAX_ANSWER_HEADER_BYTES, MAX_CHUNKS, MAX_INTERIM_RESPONSES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import type { StreamStatus } from '../../xds-client/transport';
import { createHash } from 'node:crypto';
import { ByteCollector } from '../../util/bytes';
import { errorMessage } from '../../util/errors';
import { StatusCode, statusOfHttp } from '../../util/status-code';
import { cutText, quoteText } from '../../util/text';
import { afterRunning } from '../../util/running-time';

/** A request. */
export interface HttpPost {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Constructor options of a client. */
export interface HttpClientOptions {
  readonly clock: Clock;
  /** Milliseconds in which the whole response must have been received. */
  readonly timeoutMs: number;
  /** The trusted certificates and the client's own; `undefined` without TLS. */
  readonly certificates: WatchedCertificates | undefined;
  /** See `Limits`. Applies to the body of a response. */
  readonly maxMessageBytes: number;
}

interface TlsOptions extends Partial<TlsContextOptions> {
  /** Default: the roots of the system. */
  readonly ca?: string[];
  readonly cert?: string;
  readonly key?: string;
  readonly checkServerIdentity?: CheckServerIdentity;
}

/** Idle connections are closed after this: one with certificates that were replaced is never used again. */
const IDLE_TIMEOUT_MS = 120_000;

/** Sends POST requests to one server over persistent connections. */
export class HttpClient {
  private readonly agent: HttpAgent;
  private tls: TlsOptions = {};
  private readonly watch: CertificateWatch | undefined;

  constructor(private readonly options: HttpClientOptions) {
    const { certificates } = options;
    const agentOptions = { keepAlive: true, timeout: IDLE_TIMEOUT_MS };
    this.agent =
      certificates === undefined
        ? new HttpAgent(agentOptions)
        : // Node.js does not check the certificate of a session that is resumed.
          new HttpsAgent({ ...agentOptions, maxCachedSessions: 0 });
    this.watch = certificates?.watch(() => this.useCertificates());
    this.useCertificates();
  }

  private useCertificates(): void {
    if (this.watch === undefined) return;
    const { roots, identity } = this.watch.current;
    this.tls = {
      ...tlsOptions(),
      checkServerIdentity: roots?.ok === true ? serverCheckOf(roots.value) : checkHostName,
      ...(roots?.ok === true && { ca: [...roots.value.certificates] }),
      ...(identity?.ok === true && {
        cert: identity.value.certificateChain,
        key: identity.value.privateKey,
      }),
    };
  }

  /** Sends a request. @returns a handle that cancels it without calling back. */
  post({ url, headers, body }: HttpPost, callback: HttpCallback): Handle {
    const send = this.options.certificates === undefined ? httpRequest : httpsRequest;
    const { agent, tls } = this;
    const maxHeaderSize = MAX_ANSWER_HEADER_BYTES;
    const request = send(url, { method: 'POST', headers, agent, maxHeaderSize, ...tls });
    // A poll must not keep the process alive. The agent calls ref() on a reused socket before this event
    // (https://github.com/nodejs/node/blob/v20.20.2/lib/_http_agent.js, `reuseSocket`).
    request.on('socket', (socket) => socket.unref());
    let isDone = false;
    const finish = (answer: Result<HttpResponse, StreamStatus> | undefined): void => {
      if (isDone) return;
      isDone = true;
      timer.release();
      if (answer?.ok !== true) request.destroy();
      if (answer !== undefined) callback(answer);
    };
    const { clock, timeoutMs, maxMessageBytes } = this.options;
    const timer = afterRunning(
      clock,
      () => finish(noAnswer(`no answer within ${describeDuration(timeoutMs)}`)),
      timeoutMs,
    );
    readAnswer(request, maxMessageBytes, finish);
    request.end(body);
    return createHandle(() => finish(undefined));
  }

  /** Closes all connections. */
  close(): void {
    this.watch?.release();
    this.agent.destroy();
  }
}

/** A response. */
export interface HttpResponse {
  readonly status: number;
  readonly etag: string | undefined;
  /** `Content-Type`; `undefined` if absent, as are the others. */
  readonly contentType?: string | undefined;
  /** What was done to the body, of `Content-Encoding` and `Transfer-Encoding`; `undefined` if it is as it was. */
  readonly encoding?: string | undefined;
  readonly location?: string | undefined;
  readonly body: string;
  /** Equal exactly when the body is. */
  readonly digest: string;
}

/** Receives the response to a request, or why there is none. */
export type HttpCallback = (result: Result<HttpResponse, StreamStatus>) => void;

/**
 * Reads the answer to a request. Beyond a bound, no more of it is read once the request is destroyed.
 *
 * @param maxBytes The most that the body may have.
 * @param finish May be called more than once: the first call has the result.
 */
function readAnswer(request: ClientRequest, maxBytes: number, finish: HttpCallback): void {
  let interimResponses = 0;
  request.on('information', () => {
    if (++interimResponses > MAX_INTERIM_RESPONSES) {
      finish(exhausted(`more than ${MAX_INTERIM_RESPONSES} interim responses (HTTP status 1xx)`));
    }
  });
  // Without a listener, Node.js closes the connection and says nothing to the request.
  request.on('upgrade', () => finish(noAnswer('an answer in another protocol (HTTP status 101)')));
  request.on('error', (error) => finish(describeError(error)));
  request.on('response', (response) => {
    response.on('error', (error) => finish(describeError(error)));
    readBody(response, maxBytes, finish);
  });
}

/** Collects the body of a response, unless it is too large. */
function readBody(response: IncomingMessage, maxBytes: number, finish: HttpCallback): void {
  const tooLarge = exhausted(`an answer of more than ${maxBytes} bytes (maxMessageBytes)`);
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) {
    finish(tooLarge);
    return;
  }
  const collected = new ByteCollector(maxBytes);
  const hash = createHash('sha256');
  let chunks = 0;
  response.on('data', (chunk: Buffer) => {
    if (!collected.add(chunk)) finish(tooLarge);
    else if (++chunks > MAX_CHUNKS)
      finish(exhausted(`an answer in more than ${MAX_CHUNKS} chunks`));
    else hash.update(chunk);
  });
  response.on('end', () => {
    const { statusCode: status = 0, headers } = response;
    const { etag, location, 'content-type': contentType } = headers;
    const body = collected.bytes.toString('utf8');
    const digest = hash.digest('hex');
    finish(
      ok({ status, etag, location, contentType, encoding: encodingOf(headers), body, digest }),
    );
  });
}

/** Returns the codings other than `identity`, and `chunked`, which Node.js decodes. */
function encodingOf(headers: IncomingMessage['headers']): string | undefined {
  const lists = [headers['content-encoding'], headers['transfer-encoding']];
  const codings = lists.flatMap((list) => (list ?? '').split(',').map((each) => each.trim()));
  const applied = codings.filter((each) => !/^(?:identity|chunked)?$/i.test(each));
  return applied.length === 0 ? undefined : applied.join(', ');
}

function describeError(error: NodeJS.ErrnoException): Result<never, StreamStatus> {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return exhausted(`an answer with headers of more than ${MAX_ANSWER_HEADER_BYTES} bytes`);
  }
  // The error of Node.js for a connection that ends within a body.
  const isCut = error.code === 'ECONNRESET' && error.message === 'aborted';
  return noAnswer(isCut ? 'the connection was closed within the answer' : errorMessage(error));
}

/** The result of a request that got no answer. */
function noAnswer(details: string): Result<never, StreamStatus> {
  return err({ code: StatusCode.UNAVAILABLE, details });
}

function exhausted(details: string): Result<never, StreamStatus> {
  return err({ code: StatusCode.RESOURCE_EXHAUSTED, details });
}

const OK = 200;
/** The status that nothing has changed. */
export const NOT_MODIFIED = 304;

const MAX_BODY = 200;
/** Characters of which the shown ones are made: white space is made less of. */
const MAX_READ_BODY = 1000;

const CHECK_URI = 'check server_uri, and proxies before the server';

/**
 * Describes an answer whose body is not to be read: a redirect, a compressed body, a status of an error. The texts follow
 * the name of the server, and end with what to do.
 *
 * @param path The path of the request.
 */
export function findAnswerProblem(path: string, answer: HttpResponse): StreamStatus | undefined {
  const { status, encoding } = answer;
  if (status === NOT_MODIFIED) return undefined;
  const fact = `${path} was answered with HTTP status ${status}`;
  if (status >= 300 && status < 400) {
    return answered(
      StatusCode.UNAVAILABLE,
      `${fact}, a redirect${describeLocation(answer)}. Redirects are not followed: ${CHECK_URI}`,
    );
  }
  if (status === OK) {
    if (encoding === undefined) return undefined;
    return answered(
      StatusCode.UNAVAILABLE,
      `${fact} and a body in the encoding ${quoteText(encoding)}, which is not decoded: ` +
        'turn off compression at the server, and at proxies before it',
    );
  }
  const code = statusOfHttp(status);
  if (isPage(answer)) return answered(code, `${fact} and ${describePage(answer)}`);
  const shown = encoding === undefined ? startOf(answer) : `a body in ${quoteText(encoding)}`;
  return answered(code, shown === '' ? fact : `${fact}: ${shown}`);
}

/** Describes an answer whose body cannot be read. @param reason What is wrong with the body. */
export function describeUnreadable(
  path: string,
  answer: HttpResponse,
  reason: string,
): StreamStatus {
  // The type alone is not decisive: some servers label everything as HTML.
  return isPage(answer)
    ? answered(StatusCode.UNAVAILABLE, `the answer to ${path} is ${describePage(answer)}`)
    : { code: StatusCode.INTERNAL, details: `the answer to ${path} cannot be read: ${reason}` };
}

function isPage({ contentType = '', encoding }: HttpResponse): boolean {
  return encoding === undefined && /^text\/html\b/i.test(contentType);
}

function describePage(answer: HttpResponse): string {
  return `an HTML page, as a web server or a proxy sends (${startOf(answer)}): ${CHECK_URI}`;
}

/** The beginning of the body, in one line. */
function startOf({ body }: HttpResponse): string {
  return cutText(body.slice(0, MAX_READ_BODY).replace(/\s+/g, ' ').trim(), MAX_BODY);
}

/** Names the place of a redirect, without the parts that may be secret: the user, the query and the fragment. */
function describeLocation({ location }: HttpResponse): string {
  if (location === undefined) return '';
  const plain = location
    .slice(0, endOfPath(location))
    .replace(/^([a-z][a-z\d+.-]*:)?\/\/[^/]*@/i, '$1//');
  return ` to ${quoteText(plain)}`;
}

function endOfPath(location: string): number {
  const end = location.search(/[?#]/);
  return end < 0 ? location.length : end;
}

function answered(code: number, details: string): StreamStatus {
  return { code, details, hasAnswered: true };
}
