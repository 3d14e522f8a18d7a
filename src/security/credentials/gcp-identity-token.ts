import { request, type IncomingMessage } from 'node:http';
import { Status, type CallCredentials } from '../../grpc-js';
import { ByteCollector } from '../../util/bytes';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { MAX_TOKEN_BYTES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { StatusCode, statusOfHttp } from '../../util/status-code';
import {
  CachedToken,
  TokenError,
  type TokenCallback,
  type TokenDependencies,
} from './cached-token';
import { afterRunning } from '../../util/running-time';

/** The metadata server of Google Cloud, as machines and containers there resolve it. */
const DEFAULT_HOST = 'metadata.google.internal';
const PATH = '/computeMetadata/v1/instance/service-accounts/default/identity';
/** The longest that the metadata server may take to answer. */
const TIMEOUT_MS = 20_000;
/** Options of the tokens of a metadata server. */
export interface GcpIdentityOptions extends TokenDependencies {
  /** Its host and, if it is not 80, its port. Default: `GCE_METADATA_HOST`, or else that of Google Cloud. */
  readonly metadataHost?: string | undefined;
}

/**
 * Creates call credentials with the identity token of the machine's default service account for an audience (gRFC A83).
 * The token is requested for the first call, and again before it expires.
 */
export function createGcpIdentityCredentials(
  audience: string,
  options: GcpIdentityOptions,
): CallCredentials {
  // eslint-disable-next-line no-restricted-properties -- the variable of Google's own libraries, of no use to anything else here
  const { clock, metadataHost = process.env['GCE_METADATA_HOST'] ?? '' } = options;
  const host = metadataHost === '' ? DEFAULT_HOST : metadataHost;
  const source = {
    description: `GCP metadata server ${host}`,
    fetch: (callback: TokenCallback) => fetchIdentityToken(host, audience, clock, callback),
  };
  return new CachedToken(source, options).toCredentials();
}

/** Requests a token. Errors never quote the answer, which might be one. */
function fetchIdentityToken(
  host: string,
  audience: string,
  clock: Clock,
  callback: TokenCallback,
): void {
  const url = `http://${host}${PATH}?audience=${encodeURIComponent(audience)}`;
  if (!URL.canParse(url)) {
    callback(unavailable('not a host and port'));
    return;
  }
  let isOver = false;
  const finish = (result: Result<string, TokenError>) => {
    if (isOver) return;
    isOver = true;
    timer.release();
    sent.destroy();
    callback(result);
  };
  // An agent of its own: the shared one may use the proxy of the environment, and keeps connections.
  const sent = request(url, { agent: false, headers: { 'Metadata-Flavor': 'Google' } });
  const timer = afterRunning(clock, () => finish(unavailable('no answer within 20 s')), TIMEOUT_MS);
  sent.on('error', (error) => finish(unavailable(errorMessage(error))));
  // Nothing in the request permits an interim response, and Node.js reads any number of them.
  sent.on('information', ({ statusCode }) => finish(unavailable(interim(statusCode))));
  // Without a listener, Node.js closes the connection and says nothing to the request.
  sent.on('upgrade', () => finish(unavailable(interim(101))));
  sent.on('response', (response) => readToken(response, finish));
  sent.end();
}

function readToken(response: IncomingMessage, finish: TokenCallback): void {
  const { statusCode = 0 } = response;
  if (statusCode !== 200) {
    const isTemporary = statusOfHttp(statusCode) === StatusCode.UNAVAILABLE;
    const code = isTemporary ? Status.UNAVAILABLE : Status.UNAUTHENTICATED;
    finish(err(new TokenError(code, `HTTP status ${statusCode}`)));
    return;
  }
  // The header by which a metadata server differs from other servers at its address.
  if (response.headers['metadata-flavor'] !== 'Google') {
    finish(
      unavailable(
        'the answer has no header Metadata-Flavor: Google, so it is not of a metadata server',
      ),
    );
    return;
  }
  const token = new ByteCollector(MAX_TOKEN_BYTES);
  response.on('data', (chunk: Buffer) => {
    if (!token.add(chunk)) {
      finish(unavailable(`the answer is longer than ${MAX_TOKEN_BYTES} bytes`));
    }
  });
  response.on('error', (error) => finish(unavailable(errorMessage(error))));
  response.on('end', () => finish(ok(token.bytes.toString('latin1'))));
}

function interim(statusCode: number): string {
  return `HTTP status ${statusCode}, which is not an answer: something else listens there, or a proxy is between`;
}

function unavailable(message: string): Result<never, TokenError> {
  return err(new TokenError(Status.UNAVAILABLE, message));
}
