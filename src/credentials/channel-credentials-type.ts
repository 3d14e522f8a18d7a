import type { CertificateProvider, ChannelCredentials } from '../grpc-js';
import type { Result } from '../util/result';
import type { Violations } from '../util/violations';

/** Makes credentials whose configuration has been read. May be called again after a failure. */
export type CreateChannelCredentials = () => Result<ChannelCredentials, string>;

/** Makes the certificates to trust and those to show, or says why that is not possible now. */
export type CreateCertificates = () => Result<CertificateProvider, string>;

/** A type of channel credentials that a bootstrap may name (gRFC A27). */
export interface ChannelCredentialsType {
  /** The name in `channel_creds[].type`. */
  readonly type: string;
  /**
   * Reads `channel_creds[].config`, which is absent or an object.
   * @returns what makes the credentials; `undefined` after adding a violation.
   */
  parse(config: unknown, violations: Violations): CreateChannelCredentials | undefined;
  /**
   * The same for a server that is reached over HTTPS and not by gRPC: what makes the certificates. Default: the
   * type cannot be used for that.
   */
  parseForHttps?(config: unknown, violations: Violations): CreateCertificates | undefined;
}
