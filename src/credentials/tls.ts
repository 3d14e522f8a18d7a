import {
  ChannelCredentials,
  createCertificateProviderChannelCredentials,
  type CallCredentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../grpc-js';
import type { UpstreamTls } from '../resources/cluster/cluster';
import {
  parseCertificateFiles,
  type CertificateFilesConfig,
} from '../security/file-watcher/config';
import { XdsSecureConnector } from '../security/secure-connector';
import { TlsPolicy } from '../security/tls-policy';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import { ok } from '../util/result';
import type { ChannelCredentialsType } from './define-channel-credentials';
import { FileCertificates } from './file-certificates';

/** The instance of a policy whose source has only one. */
const INSTANCE = { instanceName: 'tls', certificateName: '' };

/**
 * Credentials for a server that is authenticated by a trust bundle map (gRFC A87): it may have any SPIFFE ID of the trust domains,
 * and each is verified by its own bundle.
 */
class SpiffeCredentials extends ChannelCredentials {
  private policy: TlsPolicy | undefined;

  constructor(
    private readonly certificates: FileCertificates,
    private readonly hasIdentity: boolean,
  ) {
    super();
  }

  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(
    target: GrpcUri,
    options: ChannelOptions,
    callCredentials?: CallCredentials,
  ): SecureConnector {
    this.policy ??= new TlsPolicy('', this.tlsFor(target), this.certificates.source);
    return new XdsSecureConnector(this.policy, options, callCredentials);
  }

  private tlsFor({ path }: GrpcUri): UpstreamTls {
    return {
      ...{ sni: path, autoHostSni: false, autoSniSanValidation: false, sanMatchers: [] },
      rootCertificates: { kind: 'instance', ...INSTANCE },
      identity: this.hasIdentity ? INSTANCE : undefined,
    };
  }
}

/**
 * Credentials of type `tls` (gRFC A65): `ca_certificate_file`, `certificate_file` with `private_key_file`,
 * `spiffe_trust_bundle_map_file` (gRFC A87) and `refresh_interval`, all of them optional. The files are read when a channel
 * is made, which fails if they cannot be used, and again when they change. With a trust bundle map, the SPIFFE ID of the
 * server is checked in place of its host name.
 */
export function createTlsCredentialsType(options: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly spiffeBundles: boolean;
}): ChannelCredentialsType {
  const rules = { spiffeBundles: options.spiffeBundles, isFileRequired: false };
  return {
    type: 'tls',
    parse(json, violations) {
      const config = parseCertificateFiles(json, rules, violations);
      if (config === undefined) return undefined;
      return () => {
        const certificates = FileCertificates.load(config, options);
        if (!certificates.ok) return certificates;
        return ok(createCredentials(config, certificates.value));
      };
    },
    parseForHttps(json, violations) {
      const config = parseCertificateFiles(json, rules, violations);
      if (config === undefined) return undefined;
      if (config.roots?.field === 'spiffe_trust_bundle_map_file')
        return violations.at(config.roots.field).add('cannot be used for HTTPS');
      return () => FileCertificates.load(config, options);
    },
  };
}

function createCredentials(
  { roots, identity }: CertificateFilesConfig,
  certificates: FileCertificates,
): ChannelCredentials {
  if (roots?.field === 'spiffe_trust_bundle_map_file') {
    return new SpiffeCredentials(certificates, identity !== undefined);
  }
  const identityProvider = identity === undefined ? null : certificates;
  return createCertificateProviderChannelCredentials(certificates, identityProvider);
}
