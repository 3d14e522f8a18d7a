import type { X509Certificate } from 'node:crypto';
import { PATH } from '../resources/matching/match-meter';
import type { Metadata } from '../grpc-js';
import type { ConnectionEnds } from '../util/connection-ends';
import type { Result } from '../util/result';
import type { HeaderReader } from '../routing/matched-call';

/** The identity of the peer of a connection. */
export interface PeerNames {
  /** The URIs in its certificate, such as its SPIFFE id. */
  readonly uriSans: readonly string[];
  /** The DNS names in its certificate. */
  readonly dnsSans: readonly string[];
  /** The subject of its certificate, in the text of RFC 2253. */
  readonly subject: string;
}

/** A request to authorize, with its connection (gRFC A41). Reading an unknown member throws, and the request is denied. */
export interface AuthorizationRequest {
  /** The path, such as `/pkg.Service/Method`. */
  readonly path: string;
  /** Returns the value of a header, repeated ones joined by `,`; `undefined` if it is absent. By lower-case name. */
  header(name: string): string | undefined;
  /** The address of the server. */
  readonly local: { readonly address: string; readonly port: number };
  /** The address of the client. */
  readonly remote: { readonly address: string; readonly port: number };
  /** `undefined` in plain text; without names if the client showed no certificate. */
  readonly tls: { readonly peer: PeerNames | undefined } | undefined;
}

/** What filters may do with a call of a server, besides refusing it. */
export interface FilteredCall {
  /** The headers of the request. What filters change is passed on. */
  readonly headers: Metadata;
  /** Milliseconds since 1970; `Infinity` if there is no deadline. */
  readonly deadlineMs: number;
  /** `undefined` in plain text. */
  readonly tls: ServedTls | undefined;
  /** Runs a function that starts another call as a child of this one: in its trace. */
  startChild(start: () => void): void;
  /** Calls a function when the call ends; at once if it has ended. */
  onEnd(run: () => void): void;
  /** Lets a function change the headers of the response, unless there are only trailers. It must not throw. */
  onResponseHeaders(change: (headers: Metadata) => void): void;
}

/** The certificates of a connection. */
export interface ServedTls {
  readonly peer: (PeerNames & { readonly certificate: X509Certificate }) | undefined;
  /** The identity of the server itself; `undefined` if its certificate cannot be read. */
  readonly local?: PeerNames | undefined;
}

/** Headers of a connection, which are never those of a request (gRFC A41). */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The only method of HTTP that gRPC has. */
export const METHOD = 'POST';

/** Returns a header of a request by its lower-case name, by the rules of servers (gRFC A41); `undefined` if it is absent. */
export function readHeader(name: string, request: AuthorizationRequest): string | undefined {
  if (CONNECTION_HEADERS.has(name)) return undefined;
  if (name === PATH) return request.path;
  const value = request.header(name);
  if (value !== undefined) return value;
  if (name === ':method') return METHOD;
  // What a client of HTTP/1 calls it.
  return name === ':authority' ? request.header('host') : undefined;
}

/** What authorizations read of a connection, which all of its calls have in common. */
export type RequestConnection = Pick<AuthorizationRequest, 'local' | 'remote' | 'tls'>;

/**
 * Returns the connection with these ends, as an interceptor of `@grpc/grpc-js` gets them.
 *
 * @param security What secures it, or why that is not known; called when it is read.
 */
export function requestConnection(
  { localAddress, localPort, remoteAddress, remotePort }: ConnectionEnds,
  security: () => Result<AuthorizationRequest['tls'], string>,
): RequestConnection {
  return {
    local: { address: localAddress ?? '', port: localPort ?? 0 },
    remote: { address: remoteAddress ?? '', port: remotePort ?? 0 },
    get tls() {
      const tls = security();
      if (tls.ok) return tls.value;
      throw new Error(tls.error);
    },
  };
}

/** What grpc-js accepts, and then hides from interceptors. */
const assumedContentType = (): string => 'application/grpc';

/** A call of a server as authorizations read it. */
export class InterceptedRequest implements AuthorizationRequest {
  constructor(
    readonly path: string,
    private readonly metadata: Metadata,
    private readonly call: { getHost(): string },
    private readonly connection: RequestConnection,
    /** Returns what the client has sent. */
    private readonly contentType = assumedContentType,
    /** For the filters of xDS servers. */
    readonly filtered?: FilteredCall,
  ) {}

  get local(): AuthorizationRequest['local'] {
    return this.connection.local;
  }

  get remote(): AuthorizationRequest['remote'] {
    return this.connection.remote;
  }

  get tls(): AuthorizationRequest['tls'] {
    return this.connection.tls;
  }

  header(name: string): string | undefined {
    switch (name) {
      case ':path':
        return this.path;
      case ':authority':
        return this.call.getHost();
      case 'content-type':
        return this.contentType();
      // grpc-js leaves it in the headers beside the authority, for which it stands.
      case 'host':
        return undefined;
      default:
        return headerOf(this.metadata, name);
    }
  }
}

/** Repeated values are joined by a comma, binary ones in base64 without padding (gRFC A41). Names of pseudo headers are no names of metadata. */
function headerOf(metadata: Metadata, name: string): string | undefined {
  if (name.startsWith(':')) return undefined;
  const values = metadata.get(name);
  if (values.length === 0) return undefined;
  return values.map((value) => (typeof value === 'string' ? value : toBase64(value))).join(',');
}

function toBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/={1,2}$/, '');
}

/**
 * Reads the headers of the requests of servers. By the rules of routing, binary ones are absent (gRFC A28). Other headers are those
 * that the request has: also pseudo headers, and those that clients set after routing.
 */
export const serverHeaders: HeaderReader<AuthorizationRequest> = {
  read: (name, request) => (name.endsWith('-bin') ? undefined : readHeader(name, request)),
};
