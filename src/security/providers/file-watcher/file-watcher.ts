import type { CertificateProviderType } from '../certificate-provider';
import { CertificateFiles } from './certificate-files';
import { parseCertificateFiles, type CertificateFilesConfig } from './config';

/**
 * Creates the certificate provider `file_watcher` (gRFC A29): `certificate_file` with `private_key_file`,
 * `ca_certificate_file`, `spiffe_trust_bundle_map_file` (gRFC A87), `refresh_interval`. Names of certificates have no
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
    create(config, { instanceName, clock, logger }) {
      const subject = `certificate provider instance "${instanceName}": `;
      const files = new CertificateFiles(config, {
        ...{ subject, clock, logger, logsFirstFailure: true },
      });
      return {
        watch(_certificateName, onChanged) {
          const handle = files.watch(onChanged);
          return {
            get current() {
              return files.current;
            },
            release: () => handle.release(),
          };
        },
        // The files are watched only while there is a watch.
        close: () => undefined,
      };
    },
  };
}
