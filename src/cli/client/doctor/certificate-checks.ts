import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Bootstrap, ServerConfig } from '../../../bootstrap/bootstrap';
import {
  parseCertificateFiles,
  type CertificateFilesConfig,
} from '../../../security/providers/certificate-files';
import type { Clock } from '../../../util/clock';
import { errorMessage } from '../../../util/error-message';
import { readRegularFile } from '../../../util/files/read-regular-file';
import { Violations } from '../../../util/violations';
import type { Findings } from './finding';

/** Certificates that expire sooner are reported. */
const SOON_DAYS = 14;
const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Describes the time a certificate has left, and reports one that expires soon or has expired. */
export function checkExpiry(
  subject: string,
  { what, expiresAtMs, nowMs }: { what: string; expiresAtMs: number; nowMs: number },
  findings: Findings,
): string {
  const days = Math.floor((expiresAtMs - nowMs) / DAY_MS);
  const date = new Date(expiresAtMs).toISOString().slice(0, 10);
  const remedy = 'renew the certificate, and find out why that has not happened';
  if (expiresAtMs <= nowMs) {
    findings.fail('certificate-expired', subject, `${what} has expired: ${date}`, remedy);
  } else if (days < SOON_DAYS) {
    findings.warn(
      'certificate-expires',
      subject,
      `${what} expires in ${days} days: ${date}`,
      remedy,
    );
  }
  return `${days} d left`;
}

/** The contents of certificate files. */
export interface CertificateFilesContent {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Checks the files of credentials or of a certificate provider, and reads them. */
export function checkCertificateFiles(
  subject: string,
  config: CertificateFilesConfig,
  clock: Clock,
  findings: Findings,
): CertificateFilesContent {
  const read = (path: string) => readFile(subject, path, findings);
  const { roots, identity } = config;
  const ca = roots && read(roots.path);
  const cert = identity && read(identity.certificatePath);
  const key = identity && read(identity.privateKeyPath);
  if (identity !== undefined && cert !== undefined) {
    checkIdentity(subject, { path: identity.certificatePath, cert, key }, clock, findings);
  }
  const isCaFile = roots?.field === 'ca_certificate_file';
  return {
    ...(ca !== undefined && isCaFile && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
  };
}

function readFile(subject: string, path: string, findings: Findings): Buffer | undefined {
  const read = readRegularFile(path, { maxBytes: MAX_BYTES });
  if (read.ok) return read.value;
  const text = `${path} cannot be read: ${read.error}`;
  findings.fail('certificate-file', subject, text, 'check the path and its permissions');
  return undefined;
}

function checkIdentity(
  subject: string,
  { path, cert, key }: { path: string; cert: Buffer; key: Buffer | undefined },
  clock: Clock,
  findings: Findings,
): void {
  try {
    const certificate = new X509Certificate(cert);
    const expiresAtMs = Date.parse(certificate.validTo);
    checkExpiry(subject, { what: path, expiresAtMs, nowMs: clock.now() }, findings);
    if (key === undefined || certificate.checkPrivateKey(createPrivateKey(key))) return;
    const text = `${path} is not for the private key beside it`;
    findings.fail('certificate-key', subject, text, 'write both files together');
  } catch (error) {
    const text = `${path} is not a certificate with its key in PEM: ${errorMessage(error)}`;
    findings.fail('certificate-file', subject, text, 'check the content of the file');
  }
}

/** Checks the files of the certificate providers `file_watcher` of the bootstrap (gRFC A29). */
export function checkProviders(
  { certificateProviders }: Bootstrap,
  clock: Clock,
  findings: Findings,
): void {
  for (const [name, { pluginName, config }] of certificateProviders) {
    if (pluginName !== 'file_watcher') continue;
    const rules = { spiffeBundles: true, isFileRequired: false };
    const files = parseCertificateFiles(config, rules, Violations.root());
    const subject = `provider ${name}`;
    const before = findings.count('fail');
    if (files !== undefined) checkCertificateFiles(subject, files, clock, findings);
    if (findings.count('fail') === before) findings.ok('provider', subject, 'files can be used');
  }
}

/** Returns the files of the channel credentials of a server; `undefined` if it has none. */
export function filesOfServer({ channelCreds }: ServerConfig): CertificateFilesConfig | undefined {
  if (channelCreds.type !== 'tls') return undefined;
  const rules = { spiffeBundles: true, isFileRequired: false };
  return parseCertificateFiles(channelCreds.config, rules, Violations.root());
}
