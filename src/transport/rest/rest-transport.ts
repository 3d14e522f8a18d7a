import type { FetchConfig, ServerConfig } from '../../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../../bootstrap/limits';
import type {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { Status, type CallCredentials, type Metadata } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { err, ok, type Result } from '../../util/result';
import { sanitizeText, withoutTrailing } from '../../util/text';
import {
  isServedWithoutGrpc,
  type StreamStatus,
  type XdsStream,
  type XdsStreamHandler,
  type XdsTransport,
} from '../../xds-client/transport';
import type { WatchedCertificates } from '../../security/providers/certificate-provider';
import { SentSecrets } from '../connection-credentials';
import { discoveryPath, readResponse, writeRequest } from './discovery-json';
import { HttpClient, type HttpResponse } from './http-client';
import { RestStream } from './rest-stream';
import { TimeBudget } from '../../xds-client/budgets';
import { DEFAULT_TIME_PERCENT } from '../../xds-client/limits';

/** Creates the credentials of a server over HTTPS. */
export interface RestCredentials {
  createForHttps(server: ServerConfig): Result<WatchedCertificates, string>;
  createCall(server: ServerConfig): Result<readonly CallCredentials[], string>;
}

/** Options of a REST transport. */
export interface RestTransportOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: RestCredentials;
  /** Default: those of an application that sets none. */
  readonly limits?: Pick<Limits, 'maxMessageBytes'>;
  /** What the transports of all servers have in common. Default: this one shares nothing. */
  readonly shared?: SharedByTransports;
}

/** What the transports of several servers have in common. */
export interface SharedByTransports {
  /** Reads the responses of all of them. The first transport creates it. */
  reader?: ResponseReader;
}

const DEFAULT_FETCH: FetchConfig = {
  refreshDelayMs: 10_000,
  requestTimeoutMs: 10_000,
  ignoreUnknownFields: false,
};
/** Requests are spread by this fraction, up and down, so that clients that started together do not send together. */
const JITTER = 0.1;

/**
 * Creates the transport of a management server that is polled over HTTP, with one request for each type: the REST-JSON
 * variant of the xDS protocol, behind the interface of a connection.
 *
 * @returns the transport, or why there can be none now.
 */
export function createRestTransport(
  server: ServerConfig,
  options: RestTransportOptions,
): Result<XdsTransport, string> {
  const isSecure = new URL(server.serverUri).protocol === 'https:';
  if (!isSecure && server.callCreds.length > 0) {
    return err('call credentials are not sent over http:, only over https:');
  }
  const callCredentials = options.credentials.createCall(server);
  if (!callCredentials.ok) return callCredentials;
  const certificates = isSecure ? options.credentials.createForHttps(server) : ok(undefined);
  if (!certificates.ok) return certificates;
  const { requestTimeoutMs: timeoutMs } = server.fetch ?? DEFAULT_FETCH;
  const { clock, limits = DEFAULT_LIMITS } = options;
  const { maxMessageBytes } = limits;
  const client = new HttpClient({
    clock,
    timeoutMs,
    maxMessageBytes,
    certificates: certificates.value,
  });
  return ok(new RestTransport(server, client, callCredentials.value, options));
}

class RestTransport implements XdsTransport {
  private readonly streams = new Set<RestStream>();
  private readonly secrets = new SentSecrets();
  private readonly callCredentials: readonly CallCredentials[];
  private readonly base: string;
  private readonly refreshDelayMs: number;
  private readonly reader: ResponseReader;

  constructor(
    { serverUri, fetch = DEFAULT_FETCH }: ServerConfig,
    private readonly client: HttpClient,
    callCredentials: readonly CallCredentials[],
    private readonly options: RestTransportOptions,
  ) {
    this.callCredentials = callCredentials.map((each) => this.secrets.watch(each));
    this.base = withoutTrailing(serverUri, '/');
    this.refreshDelayMs = fetch.refreshDelayMs;
    const { shared = {}, clock } = options;
    this.reader = shared.reader ??= new ResponseReader(clock);
  }

  openStream(method: string, handler: XdsStreamHandler): XdsStream {
    const { clock, random } = this.options;
    const stream = new RestStream({
      handler,
      clock,
      nextDelayMs: () => this.refreshDelayMs * (1 + JITTER * (2 * random() - 1)),
      post: (...args) => this.post(...args),
      readBody: (body) => this.reader.read(body),
      waitMs: () => this.reader.waitMs(),
      sanitize: (text) => sanitizeText(this.secrets.redact(text)),
      onEnd: (ended) => this.streams.delete(ended),
    });
    this.streams.add(stream);
    if (!isServedWithoutGrpc(method)) {
      const details = `${method} is not served over HTTP`;
      stream.fail({ code: Status.UNIMPLEMENTED, details });
    }
    return stream;
  }

  close(): void {
    for (const stream of this.streams) stream.close();
    this.client.close();
  }

  private post(
    request: DiscoveryRequest,
    etag: string | undefined,
    callback: (answer: Result<HttpResponse, StreamStatus>) => void,
  ): Handle {
    const path = discoveryPath(request.typeUrl) ?? '';
    const url = new URL(`${this.base}${path}`);
    const body = writeRequest(request);
    let attempt: Handle | undefined;
    const headers = callHeaders(this.callCredentials, url, (made) => {
      if (!made.ok) {
        callback(made);
        return;
      }
      const conditions = etag === undefined ? {} : { 'if-none-match': etag };
      const own = { 'content-type': 'application/json', accept: 'application/json' };
      attempt = this.client.post(
        { url, headers: { ...made.value, ...own, ...conditions }, body },
        callback,
      );
    });
    return createHandle(() => {
      headers.release();
      attempt?.release();
    });
  }
}

/** Headers by name. */
type Headers = Readonly<Record<string, string>>;

/**
 * Requests the headers that call credentials add to a request.
 * @returns a handle that cancels the callback.
 */
function callHeaders(
  credentials: readonly CallCredentials[],
  url: URL,
  callback: (headers: Result<Headers, StreamStatus>) => void,
): Handle {
  if (credentials.length === 0) {
    callback(ok({}));
    return createHandle(() => {});
  }
  let isCancelled = false;
  const settle = (headers: Result<Headers, StreamStatus>): void => {
    if (!isCancelled) callback(headers);
  };
  const call = { method_name: url.pathname, service_url: `${url.origin}${url.pathname}` };
  Promise.all(credentials.map((each) => each.generateMetadata(call))).then(
    (all) => settle(ok(toHeaders(all))),
    (error: unknown) => settle(err(toStatus(error))),
  );
  return createHandle(() => (isCancelled = true));
}

function toHeaders(all: readonly Metadata[]): Headers {
  const headers: Record<string, string> = {};
  for (const metadata of all) {
    for (const [name, value] of Object.entries(metadata.getMap())) {
      if (typeof value === 'string') headers[name] = value;
    }
  }
  return headers;
}

function toStatus(error: unknown): StreamStatus {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return {
    code: typeof code === 'number' ? code : Status.UNKNOWN,
    details: errorMessage(error),
  };
}

/**
 * Reads responses, for all servers of a process: altogether for a share of the time, beyond which further responses are
 * requested later.
 */
export class ResponseReader {
  private readonly budget: TimeBudget;

  constructor(private readonly clock: Clock) {
    this.budget = new TimeBudget(DEFAULT_TIME_PERCENT / 100, clock.monotonicMs());
  }

  /** Reads the body of a response. An exception, which is a bug, is the failure of this response only. */
  read(body: string): Result<DiscoveryResponse, string> {
    const startMs = this.clock.monotonicMs();
    try {
      return readResponse(body);
    } catch (error) {
      return err(`unexpected error: ${errorMessage(error)}`);
    } finally {
      const endMs = this.clock.monotonicMs();
      this.budget.spend(endMs - startMs, endMs);
    }
  }

  /** Milliseconds until the next response may be requested; zero while there is time left. */
  waitMs(): number {
    return this.budget.waitMs(this.clock.monotonicMs());
  }
}
