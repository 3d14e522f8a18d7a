import { createCertificateProviderChannelCredentials, type ChannelCredentials } from '../grpc-js';
import type { UpstreamTls } from '../resources/cluster/cluster';
import { checkPeer } from '../security/check-peer';
import {
  parseCertificateFiles,
  type CertificateFilesConfig,
} from '../security/file-watcher/config';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import { ok } from '../util/result';
import type { ChannelCredentialsType } from './define-channel-credentials';
import { FileCertificates } from './file-certificates';

/** A server that is authenticated by a trust bundle map may have any SPIFFE ID of its trust domains. */
const ANY_SPIFFE_ID: UpstreamTls = {
  ...{ sni: '', autoHostSni: false, autoSniSanValidation: false, sanMatchers: [] },
  ...{ rootCertificates: { kind: 'system' }, identity: undefined },
};

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
        return ok(createCredentials(config, certificates.value, options.clock));
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
  clock: Clock,
): ChannelCredentials {
  const identityProvider = identity === undefined ? null : certificates;
  if (roots?.field !== 'spiffe_trust_bundle_map_file') {
    return createCertificateProviderChannelCredentials(certificates, identityProvider);
  }
  const noRoots = { certificates: [], bundles: new Map<string, readonly string[]>() };
  return createCertificateProviderChannelCredentials(certificates, identityProvider, {
    checkServerIdentity: (_host, certificate) =>
      checkPeer(certificate, ANY_SPIFFE_ID, {
        ...{ nowMs: clock.now(), serverName: '' },
        roots: certificates.roots ?? noRoots,
      }),
  });
}
