import {
  readObject,
  readPositiveDurationMs,
  readRequiredString,
  type JsonFields,
} from '../../../util/json-fields';
import type { Violations } from '../../../util/violations';

/** Files of certificates, and how often they are read again. */
export interface CertificateFilesConfig {
  /** Where the trusted authorities are; a trust bundle map goes before a CA file (gRFC A87). Default: none. */
  readonly roots:
    | {
        readonly field: 'ca_certificate_file' | 'spiffe_trust_bundle_map_file';
        readonly path: string;
      }
    | undefined;
  /** Default: none. */
  readonly identity:
    | {
        readonly certificatePath: string;
        readonly privateKeyPath: string;
      }
    | undefined;
  /** Milliseconds. At least a second. */
  readonly refreshIntervalMs: number;
}

/** How the fields are read. */
export interface CertificateFilesRules {
  /** Whether `spiffe_trust_bundle_map_file` is read (gRFC A87). */
  readonly spiffeBundles: boolean;
  /** Whether there must be a file at all. */
  readonly isFileRequired: boolean;
}

const DEFAULT_REFRESH_INTERVAL_MS = 600_000;
const MIN_REFRESH_INTERVAL_MS = 1000;

/**
 * Parses the fields that `file_watcher` (gRFC A29) and the channel credentials `tls` (gRFC A65) have in common. Unknown
 * fields are ignored.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseCertificateFiles(
  config: unknown,
  rules: CertificateFilesRules,
  violations: Violations,
): CertificateFilesConfig | undefined {
  const before = violations.count;
  const fields = readObject(config ?? {}, violations) ?? new Map<string, unknown>();
  const roots = readRoots(fields, rules, violations);
  const identity = readIdentity(fields, violations);
  const refreshIntervalMs = readPositiveDurationMs(
    fields,
    'refresh_interval',
    DEFAULT_REFRESH_INTERVAL_MS,
    violations,
  );
  if (violations.count > before) return undefined;
  if (rules.isFileRequired && roots === undefined && identity === undefined) {
    violations.add('needs certificate_file and private_key_file, or ca_certificate_file');
    return undefined;
  }
  const atLeastMs = Math.max(refreshIntervalMs, MIN_REFRESH_INTERVAL_MS);
  return { roots, identity, refreshIntervalMs: atLeastMs };
}

function readRoots(
  fields: JsonFields,
  { spiffeBundles }: CertificateFilesRules,
  violations: Violations,
): CertificateFilesConfig['roots'] {
  const ca = readPath(fields, 'ca_certificate_file', violations);
  const map = spiffeBundles
    ? readPath(fields, 'spiffe_trust_bundle_map_file', violations)
    : undefined;
  if (map !== undefined) return { field: 'spiffe_trust_bundle_map_file', path: map };
  return ca === undefined ? undefined : { field: 'ca_certificate_file', path: ca };
}

function readIdentity(
  fields: JsonFields,
  violations: Violations,
): CertificateFilesConfig['identity'] {
  // Each requires the other, so that one alone is reported as the other's absence.
  if (!fields.has('certificate_file') && !fields.has('private_key_file')) return undefined;
  const certificatePath = readRequiredString(fields, 'certificate_file', violations);
  const privateKeyPath = readRequiredString(fields, 'private_key_file', violations);
  if (certificatePath === undefined || privateKeyPath === undefined) return undefined;
  return { certificatePath, privateKeyPath };
}

function readPath(fields: JsonFields, name: string, violations: Violations): string | undefined {
  return fields.has(name) ? readRequiredString(fields, name, violations) : undefined;
}
