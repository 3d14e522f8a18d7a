import type { RequestExplanation } from '../server/explain/request-explanation';

/** A request for `authorize`. */
export interface RequestToAuthorize {
  /** The path, such as `/pkg.Service/Method`. */
  readonly path: string;
  /** The SPIFFE id of the client, or another URI in its certificate. Default: none. */
  readonly from?: string;
  /** DNS names in the certificate of the client. Default: none. */
  readonly dnsNames?: readonly string[];
  /** The subject of the certificate of the client, in the text of RFC 2253. Default: empty. */
  readonly subject?: string;
  /**
   * Whether the connection is TLS: for a policy or filter alone, since a Listener says it. Default: whether `from`, `dnsNames` or `subject`
   * is given; with `true` and none of these, the client has no certificate.
   */
  readonly tls?: boolean;
  /** Headers by their names, also `:authority`, which is the address of the server by default. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The address that the client connected to, `IP:port`. Default: the address of the Listener, or `127.0.0.1:50051`; `127.0.0.1` or `::1` for one on
   * all addresses.
   */
  readonly address?: string;
  /** The address of the client, `IP:port`. Default: `127.0.0.1:40000`. */
  readonly remote?: string;
}

/**
 * Resources of servers: a Listener, or a file or an object of resources, or the `Snapshot` of an embedded control plane. In JSON,
 * their fields have the names of the protos.
 */
export type AuthorizationResources = object;

/** The result of `authorize`: what happens to the request, and why. */
export interface AuthorizationResult extends RequestExplanation {
  /** Whether the handler would be called. */
  readonly allowed: boolean;
  /** Returns the explanation as text, in several lines. */
  toString(): string;
}
