import { subjectOf, type CertificateProviderType } from './certificate-provider';
import {
  CertificateFiles,
  type CertificateFilesConfig,
  parseCertificateFiles,
} from './certificate-files';

/**
 * Creates the certificate provider `file_watcher` (gRFC A29): `certificate_file` with `private_key_file`,
 * `ca_certificate_file`, `spiffe_trust_bundle_map_file` (gRFC A87), `crl_directory` or `crl_file`, `refresh_interval`. Names of certificates have no
 * meaning: every name has the same files.
 */
export function createFileWatcher({
  spiffeBundles,
}: {
  readonly spiffeBundles: boolean;
}): CertificateProviderType<CertificateFilesConfig> {
  return {
    name: 'file_watcher',
    parseConfig: (config, violations) =>
      parseCertificateFiles(config, { spiffeBundles, isFileRequired: true }, violations),
    create(config, context) {
      const { clock, logger } = context;
      const files = new CertificateFiles(config, {
        subject: subjectOf(context),
        clock,
        logger,
        logsFirstFailure: true,
      });
      return { watch: (_certificateName, onChanged) => files.watch(onChanged) };
    },
  };
}
