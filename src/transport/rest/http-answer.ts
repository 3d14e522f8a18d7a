import { createHash } from 'node:crypto';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { ByteCollector } from '../../util/byte-collector';
import { errorMessage } from '../../util/error-message';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import type { StreamStatus } from '../../xds-client/transport';

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

/** Bytes of a status line with its headers, and of trailers. */
export const MAX_HEADER_BYTES = 16_384;
/** Each takes some microseconds, whatever its size. */
const MAX_CHUNKS = 250_000;
/** Responses with a status of 1xx before the answer. Node.js reads any number of them. */
const MAX_INTERIM_RESPONSES = 100;

/**
 * Reads the answer to a request. Beyond a bound, no more of it is read once the request is destroyed.
 *
 * @param maxBytes The most that the body may have.
 * @param finish May be called more than once: the first call has the result.
 */
export function readAnswer(request: ClientRequest, maxBytes: number, finish: HttpCallback): void {
  let interimResponses = 0;
  request.on('information', () => {
    if (++interimResponses > MAX_INTERIM_RESPONSES) {
      finish(exhausted(`more than ${MAX_INTERIM_RESPONSES} interim responses (HTTP status 1xx)`));
    }
  });
  // Without a listener, Node.js closes the connection and says nothing to the request.
  request.on('upgrade', () =>
    finish(unavailable('an answer in another protocol (HTTP status 101)')),
  );
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
    return exhausted(`an answer with headers of more than ${MAX_HEADER_BYTES} bytes`);
  }
  // What Node.js says of a connection that ends within a body.
  const isCut = error.code === 'ECONNRESET' && error.message === 'aborted';
  return unavailable(isCut ? 'the connection was closed within the answer' : errorMessage(error));
}

/** The result of a request that got no answer. */
export function unavailable(details: string): Result<never, StreamStatus> {
  return err({ code: StatusCode.UNAVAILABLE, details });
}

function exhausted(details: string): Result<never, StreamStatus> {
  return err({ code: StatusCode.RESOURCE_EXHAUSTED, details });
}
