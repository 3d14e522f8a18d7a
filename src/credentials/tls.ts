import { createCertificateProviderChannelCredentials } from '../grpc-js';
import type { Clock } from '../util/clock';
import {
  readObject,
  readPositiveDurationMs,
  readRequiredString,
  type JsonFields,
} from '../util/json-fields';
import type { Logger } from '../util/logger';
import { ok } from '../util/result';
import type { Violations } from '../util/violations';
import type { ChannelCredentialsType } from './define-channel-credentials';
import { FileCertificates, type CertificateFiles } from './file-certificates';

const DEFAULT_REFRESH_INTERVAL_MS = 600_000;

/**
 * Creates the type `tls` (gRFC A65): `ca_certificate_file`, `certificate_file` with `private_key_file`, and
 * `refresh_interval`, all optional. The files are read when a channel is created, which fails if they cannot be, and
 * again at the interval.
 */
export function createTlsCredentialsType(options: {
  readonly clock: Clock;
  readonly logger: Logger;
}): ChannelCredentialsType {
  return {
    type: 'tls',
    parse(config, violations) {
      const parsed = parseConfig(config, violations);
      if (parsed === undefined) return undefined;
      const { files, refreshIntervalMs } = parsed;
      return () => {
        const certificates = FileCertificates.load(files, { ...options, refreshIntervalMs });
        if (!certificates.ok) return certificates;
        return ok(
          createCertificateProviderChannelCredentials(
            certificates.value,
            files.identity === undefined ? null : certificates.value,
          ),
        );
      };
    },
    parseForHttps(config, violations) {
      const parsed = parseConfig(config, violations);
      if (parsed === undefined) return undefined;
      const { files, refreshIntervalMs } = parsed;
      return () => FileCertificates.load(files, { ...options, refreshIntervalMs });
    },
  };
}

function parseConfig(
  config: unknown,
  violations: Violations,
): { readonly files: CertificateFiles; readonly refreshIntervalMs: number } | undefined {
  const before = violations.count;
  const fields = readObject(config ?? {}, violations) ?? new Map<string, unknown>();
  const files = {
    ca: readPath(fields, 'ca_certificate_file', violations),
    identity: readIdentity(fields, violations),
  };
  const refreshIntervalMs = readPositiveDurationMs(
    fields,
    'refresh_interval',
    DEFAULT_REFRESH_INTERVAL_MS,
    violations,
  );
  return violations.count > before ? undefined : { files, refreshIntervalMs };
}

function readIdentity(
  fields: JsonFields,
  violations: Violations,
): { readonly certificate: string; readonly privateKey: string } | undefined {
  // One alone is reported as the absence of the other.
  if (!fields.has('certificate_file') && !fields.has('private_key_file')) return undefined;
  const certificate = readRequiredString(fields, 'certificate_file', violations);
  const privateKey = readRequiredString(fields, 'private_key_file', violations);
  if (certificate === undefined || privateKey === undefined) return undefined;
  return { certificate, privateKey };
}

function readPath(fields: JsonFields, name: string, violations: Violations): string | undefined {
  return fields.has(name) ? readRequiredString(fields, name, violations) : undefined;
}
