import type { StringMatcher } from '../matching/string-matcher';

/** Certificates of a provider instance of the bootstrap (gRFC A29), which has that instance. */
export interface CertificateInstance {
  readonly instanceName: string;
  /** Empty if none is given. Its meaning depends on the provider. */
  readonly certificateName: string;
}

/** The roots by which the certificate of the peer must be signed. */
export type RootCertificates =
  | ({ readonly kind: 'instance' } & CertificateInstance)
  /** The roots of the system (gRFC A82). */
  | { readonly kind: 'system' };

/** A kind of subject alternative name. */
export type SanType = 'email' | 'dns' | 'uri' | 'ip';

/** A condition on the subject alternative names of a certificate: one of them must match. */
export interface SanMatcher {
  /** The kind of names it applies to. */
  readonly type: SanType | 'any';
  readonly matcher: StringMatcher;
}

/** How the certificate of the peer is validated. */
export interface PeerValidation {
  readonly rootCertificates: RootCertificates;
  /** One of these must match; with none of them every name does. */
  readonly sanMatchers: readonly SanMatcher[];
}

/** A validated UpstreamTlsContext: the TLS that the control plane asks for on connections to a cluster (gRFC A29). */
export interface UpstreamTls extends PeerValidation {
  /** Server name to send; empty for none (gRFC A101). */
  readonly sni: string;
  /** Whether the hostname of the endpoint, if it has one, is sent instead (gRFC A101). */
  readonly autoHostSni: boolean;
  /** Whether the certificate must be for the server name that was sent, instead of matching (gRFC A101). */
  readonly autoSniSanValidation: boolean;
  /** The client's own certificate; `undefined` if it presents none. */
  readonly identity: CertificateInstance | undefined;
}

/** A validated DownstreamTlsContext: the TLS that the control plane asks for on connections to a server (gRFC A29). */
export interface DownstreamTls {
  /** The server's own certificate. */
  readonly identity: CertificateInstance;
  /** How the certificates of clients are validated; `undefined` if they are not requested. */
  readonly clientValidation: PeerValidation | undefined;
  /** Whether clients without a certificate are refused. */
  readonly requireClientCertificate: boolean;
}
