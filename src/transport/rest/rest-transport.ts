import type { FetchConfig, ServerConfig } from '../../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../../bootstrap/limits';
import type { DiscoveryRequest } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { Status, type CallCredentials, type Metadata } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { err, ok, type Result } from '../../util/result';
import { sanitizeText, withoutTrailing } from '../../util/text';
import type { StreamStatus, XdsTransport } from '../../xds-client/transport';
import type { WatchedCertificates } from '../../security/providers/watched-certificates';
import { SentSecrets } from '../connection-credentials';
import { discoveryPath, ResponseReader, writeRequest } from './discovery-json';
import { HttpClient, type HttpResponse } from './http-client';
import { ServedTransport, type ServedStreamOptions } from '../served-stream';
import { RestStream, type RestServer } from './rest-stream';

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

class RestTransport extends ServedTransport<RestStream> implements RestServer {
  private readonly secrets = new SentSecrets();
  private readonly callCredentials: readonly CallCredentials[];
  private readonly base: string;
  private readonly refreshDelayMs: number;
  readonly reader: ResponseReader;

  constructor(
    { serverUri, fetch = DEFAULT_FETCH }: ServerConfig,
    private readonly client: HttpClient,
    callCredentials: readonly CallCredentials[],
    private readonly options: RestTransportOptions,
  ) {
    super(options.clock);
    this.callCredentials = callCredentials.map((each) => this.secrets.watch(each));
    this.base = withoutTrailing(serverUri, '/');
    this.refreshDelayMs = fetch.refreshDelayMs;
    const { shared = {}, clock } = options;
    this.reader = shared.reader ??= new ResponseReader(clock);
  }

  override close(): void {
    super.close();
    this.client.close();
  }

  nextDelayMs(): number {
    return this.refreshDelayMs * (1 + JITTER * (2 * this.options.random() - 1));
  }

  sanitize(text: string): string {
    return sanitizeText(this.secrets.redact(text));
  }

  post(
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

  protected override createStream(options: ServedStreamOptions): RestStream {
    return new RestStream(options, this);
  }

  protected override describeUnserved(method: string): string {
    return `${method} is not served over HTTP`;
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
