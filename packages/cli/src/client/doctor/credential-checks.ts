import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type Bootstrap, type ServerConfig, parseCertificateFiles } from 'grpc-xds/internal';
import { readJwtExpiry } from '../../../../../src/util/jwt-expiry';
import type { Clock } from '../../../../../src/util/clock';
import { errorMessage } from '../../../../../src/util/errors';
import { readRegularFile } from '../../../../../src/util/read-regular-file';
import { Violations } from '../../../../../src/util/violations';
import type { Findings } from './finding';

/** Certificates that expire sooner are reported, */
const SOON_DAYS = 14;
/** if they have less than this share of their lifetime left: what is issued for a day is renewed after some hours. */
const SOON_SHARE = 1 / 4;
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const MAX_BYTES = 16 * 1024 * 1024;

/** When a certificate is valid, in milliseconds since the epoch. */
interface CertificateTimes {
  readonly what: string;
  readonly startsAtMs: number;
  readonly expiresAtMs: number;
  readonly nowMs: number;
}

/** Describes the time a certificate has left, and reports one that expires soon or has expired. */
export function checkExpiry(
  subject: string,
  { what, startsAtMs, expiresAtMs, nowMs }: CertificateTimes,
  findings: Findings,
): string {
  const leftMs = expiresAtMs - nowMs;
  const isLate = leftMs < (expiresAtMs - startsAtMs) * SOON_SHARE;
  const date = new Date(expiresAtMs).toISOString().slice(0, 10);
  const remedy = 'renew the certificate, and find out why it was not renewed';
  if (expiresAtMs <= nowMs) {
    findings.fail('certificate-expired', subject, `${what} has expired: ${date}`, remedy);
  } else if (leftMs < SOON_DAYS * DAY_MS && isLate) {
    findings.warn(
      'certificate-expires',
      subject,
      `${what} expires in ${describeLeft(leftMs)}: ${date}`,
      remedy,
    );
  }
  return `${describeLeft(leftMs)} left`;
}

function describeLeft(leftMs: number): string {
  const isShort = Math.abs(leftMs) < 2 * DAY_MS;
  return isShort ? `${Math.floor(leftMs / HOUR_MS)} h` : `${Math.floor(leftMs / DAY_MS)} d`;
}

/** The contents of certificate files. */
export interface CertificateFilesContent {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** Whether peers are verified by a trust bundle map instead (gRFC A87). */
  readonly isByBundle: boolean;
}

/**
 * Checks the files of channel credentials or of a certificate provider, and reads them.
 *
 * @param config As the bootstrap has it. @returns `undefined` if it cannot be parsed.
 */
export function checkCertificateFiles(
  subject: string,
  config: unknown,
  clock: Clock,
  findings: Findings,
): CertificateFilesContent | undefined {
  const rules = { spiffeBundles: true, isFileRequired: false };
  const files = parseCertificateFiles(config, rules, Violations.root());
  if (files === undefined) return undefined;
  const read = (path: string) => readFile(subject, path, findings);
  const { roots, identity } = files;
  const ca = roots && read(roots.path);
  const cert = identity && read(identity[0].path);
  const key = identity && read(identity[1].path);
  if (identity !== undefined && cert !== undefined) {
    checkIdentity(subject, { path: identity[0].path, cert, key }, clock, findings);
  }
  const own = cert !== undefined && key !== undefined ? { cert, key } : {};
  if (roots === undefined) return { ...own, isByBundle: false };
  const isByBundle = roots.field === 'spiffe_trust_bundle_map_file';
  if (isByBundle || ca === undefined) return { ...own, isByBundle };
  checkRoots(subject, { path: roots.path, ca }, clock, findings);
  return { ...own, ca, isByBundle };
}

function readFile(subject: string, path: string, findings: Findings): Buffer | undefined {
  const read = readRegularFile(path, { maxBytes: MAX_BYTES });
  if (read.ok) return read.value;
  const text = `${path} cannot be read: ${read.error}`;
  findings.fail('certificate-file', subject, text, 'check the path and its permissions');
  return undefined;
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Checks that a file has certificates, and that one of them has not expired. */
function checkRoots(
  subject: string,
  { path, ca }: { readonly path: string; readonly ca: Buffer },
  clock: Clock,
  findings: Findings,
): void {
  try {
    const blocks = ca.toString('latin1').match(PEM) ?? [];
    if (blocks.length === 0) throw new Error('it has no certificate');
    const times = blocks.map((block) => timesOf(new X509Certificate(block)));
    const latest = times.reduce((a, b) => (b.expiresAtMs > a.expiresAtMs ? b : a));
    checkExpiry(subject, { what: path, ...latest, nowMs: clock.now() }, findings);
  } catch (error) {
    const text = `${path} has no certificates in PEM: ${errorMessage(error)}`;
    findings.fail('certificate-file', subject, text, 'check the content of the file');
  }
}

function timesOf({ validFrom, validTo }: X509Certificate) {
  return { startsAtMs: Date.parse(validFrom), expiresAtMs: Date.parse(validTo) };
}

function checkIdentity(
  subject: string,
  { path, cert, key }: { path: string; cert: Buffer; key: Buffer | undefined },
  clock: Clock,
  findings: Findings,
): void {
  try {
    const certificate = new X509Certificate(cert);
    checkExpiry(subject, { what: path, ...timesOf(certificate), nowMs: clock.now() }, findings);
    if (key === undefined || certificate.checkPrivateKey(createPrivateKey(key))) return;
    const text = `${path} does not match the private key beside it`;
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
    const subject = `provider ${name}`;
    const before = findings.count('fail');
    checkCertificateFiles(subject, config, clock, findings);
    if (findings.count('fail') === before) findings.ok('provider', subject, 'files can be used');
  }
}

const MAX_TOKEN_BYTES = 1024 * 1024;
/** Clocks may differ by as much. */
const LEEWAY_S = 60;

/** Checks the token files of a server (gRFC A97). @returns a few words about each token that can be used. */
export function checkTokens(
  subject: string,
  { callCreds }: ServerConfig,
  clock: Clock,
  findings: Findings,
): readonly string[] {
  return callCreds.flatMap(({ type, config }) => {
    const path = type === 'jwt_token_file' ? pathOf(config) : undefined;
    if (path === undefined) return [];
    return checkToken({ subject, path }, clock, findings) ?? [];
  });
}

function pathOf(config: unknown): string | undefined {
  if (typeof config !== 'object' || config === null || !('jwt_token_file' in config)) return;
  return typeof config.jwt_token_file === 'string' ? config.jwt_token_file : undefined;
}

function checkToken(
  { subject, path }: { subject: string; path: string },
  clock: Clock,
  findings: Findings,
): string | undefined {
  const fail = (check: string, text: string, remedy: string): undefined => {
    findings.fail(check, subject, `${path}: ${text}`, remedy);
  };
  const read = readRegularFile(path, { maxBytes: MAX_TOKEN_BYTES });
  if (!read.ok) return fail('token-file', read.error, 'check the path and its permissions');
  const token = read.value.toString('utf8').trim();
  const expiry = readJwtExpiry(token);
  if (!expiry.ok) return fail('token-file', expiry.error, 'write a JSON Web Token to the file');
  const nowMs = clock.now();
  const minutes = Math.round((expiry.value - nowMs) / 60_000);
  const { aud, notBefore } = readClaims(token);
  if (expiry.value <= nowMs) {
    const text = `the token has expired ${-minutes} min ago`;
    return fail('token-expired', text, 'find out why nothing renews it');
  }
  if (notBefore > nowMs / 1000 + LEEWAY_S) {
    const early = Math.round(notBefore - nowMs / 1000);
    const text = `the token is from ${early} s in the future`;
    return fail('clock-skew', text, 'set the clock of this machine');
  }
  return `token ${minutes} min left${aud === '' ? '' : ` for ${aud}`}`;
}

function readClaims(token: string): { readonly aud: string; readonly notBefore: number } {
  const [, payload = ''] = token.split('.');
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  const fields = new Map<string, unknown>(Object.entries(claims ?? {}));
  const seconds = [fields.get('nbf'), fields.get('iat')].filter((each) => typeof each === 'number');
  const aud = fields.get('aud') ?? '';
  const audience = Array.isArray(aud) ? aud.join(', ') : aud;
  return {
    aud: typeof audience === 'string' ? audience : '',
    notBefore: seconds.reduce((latest, each) => Math.max(latest, each), 0),
  };
}
