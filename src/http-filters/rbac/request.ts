/** The identity of the other side of a connection. */
export interface PeerNames {
  readonly uriSans: readonly string[];
  readonly dnsSans: readonly string[];
  /** RFC 2253. */
  readonly subject: string;
}

/** What an authorization decides about: one request on one connection (gRFC A41). */
export interface AuthorizationRequest {
  /** Such as `/pkg.Service/Method`. */
  readonly path: string;
  /** Returns the value of a header, repeated ones joined by `,`; `undefined` if it is absent. By lower-case name. */
  header(name: string): string | undefined;
  readonly local: { readonly address: string; readonly port: number };
  readonly remote: { readonly address: string; readonly port: number };
  /** `undefined` in plain text; without names if the client showed no certificate. */
  readonly tls: { readonly peer: PeerNames | undefined } | undefined;
}
