import { PATH } from '../../resources/matching/match-meter';

/** The identity of the other side of a connection. */
export interface PeerNames {
  /** The URIs in its certificate, such as its SPIFFE id. */
  readonly uriSans: readonly string[];
  /** The DNS names in its certificate. */
  readonly dnsSans: readonly string[];
  /** The subject of its certificate, in the text of RFC 2253. */
  readonly subject: string;
}

/**
 * What an authorization decides about: one request on one connection (gRFC A41). A member throws if it is not known: what cannot be
 * judged is denied.
 */
export interface AuthorizationRequest {
  /** Such as `/pkg.Service/Method`. */
  readonly path: string;
  /** Returns the value of a header, repeated ones joined by `,`; `undefined` if it is absent. By lower-case name. */
  header(name: string): string | undefined;
  /** The end of the server. */
  readonly local: { readonly address: string; readonly port: number };
  /** The end of the client. */
  readonly remote: { readonly address: string; readonly port: number };
  /** `undefined` in plain text; without names if the client showed no certificate. */
  readonly tls: { readonly peer: PeerNames | undefined } | undefined;
}

/** Headers of a connection, which are never those of a request (gRFC A41). */
const ABSENT: ReadonlySet<string> = new Set([
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
  if (ABSENT.has(name)) return undefined;
  if (name === PATH) return request.path;
  const value = request.header(name);
  if (value !== undefined) return value;
  if (name === ':method') return METHOD;
  // What a client of HTTP/1 calls it.
  return name === ':authority' ? request.header('host') : undefined;
}
