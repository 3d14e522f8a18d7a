import { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import {
  readBoolean,
  readNonEmptyString,
  readObject,
  readPositiveDurationMs,
  readRequiredString,
  type JsonFields,
} from '../../util/json-fields';
import { MAX_BUNDLE_BYTES } from '../../util/limits';
import type { Violations } from '../../util/violations';
import { errorStack } from '../../util/errors';
import { watchFile } from '../../util/file-watch';
import type { Handle } from '../../util/handle';
import { lazy } from '../../util/lazy';
import { err, ok, type Result } from '../../util/result';
import type * as Revocations from '../revocation/revocation-files';
import type { RevocationFiles, RevocationFilesConfig } from '../revocation/revocation-files';
import type { Certificates, Identity, TrustedRoots } from './certificate-provider';
import type { LastGood, LastGoodOptions } from '../../util/last-good';
import { WatchedCertificates } from './watched-certificates';
import { parseIdentity, parsePemRoots } from './pem';
import { parseTrustBundleMap } from './trust-bundle-map';
import { readRegularFile } from '../../util/read-regular-file';

/** Loaded for the first configuration that names revocation lists. */
const loadRevocation = lazy<typeof Revocations>(() => require('../revocation/revocation-files'));

/** Files of certificates, and how often they are read again. */
export interface CertificateFilesConfig {
  /** Where the trusted authorities are; a trust bundle map goes before a CA file (gRFC A87). Default: none. */
  readonly roots: RootsFile | undefined;
  /** The files of the certificate and of its private key. Default: none. */
  readonly identity: readonly [certificate: NamedFile, privateKey: NamedFile] | undefined;
  /** The lists of revoked certificates (gRFC A69). Default: none. */
  readonly revocation?: RevocationFilesConfig | undefined;
  /** Milliseconds. At least a second. */
  readonly refreshIntervalMs: number;
}

/** A file, and the field of the configuration that names it. */
interface NamedFile {
  readonly field: string;
  readonly path: string;
}

interface RootsFile extends NamedFile {
  readonly field: 'ca_certificate_file' | 'spiffe_trust_bundle_map_file';
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
  const revocation = readRevocation(fields, roots, violations);
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
  return { roots, identity, revocation, refreshIntervalMs: atLeastMs };
}

function readRoots(
  fields: JsonFields,
  { spiffeBundles }: CertificateFilesRules,
  violations: Violations,
): RootsFile | undefined {
  const ca = readNonEmptyString(fields, 'ca_certificate_file', violations);
  const map = spiffeBundles
    ? readNonEmptyString(fields, 'spiffe_trust_bundle_map_file', violations)
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
  const certificate = readRequiredString(fields, 'certificate_file', violations);
  const privateKey = readRequiredString(fields, 'private_key_file', violations);
  if (certificate === undefined || privateKey === undefined) return undefined;
  return [
    { field: 'certificate_file', path: certificate },
    { field: 'private_key_file', path: privateKey },
  ];
}

/** The lists are part of the authorities: those of the system have none. */
function readRevocation(
  fields: JsonFields,
  roots: RootsFile | undefined,
  violations: Violations,
): RevocationFilesConfig | undefined {
  const directory = readNonEmptyString(fields, 'crl_directory', violations);
  const file = readNonEmptyString(fields, 'crl_file', violations);
  const failUndetermined = readBoolean(fields, FAIL_UNDETERMINED, false, violations);
  const path = directory ?? file;
  const field = directory === undefined ? 'crl_file' : 'crl_directory';
  if (directory !== undefined && file !== undefined)
    return violations.at('crl_file').add('must not be set together with crl_directory');
  if (path === undefined) {
    if (failUndetermined) violations.at(FAIL_UNDETERMINED).add('needs crl_directory or crl_file');
    return undefined;
  }
  if (roots === undefined)
    return violations.at(field).add('needs ca_certificate_file or spiffe_trust_bundle_map_file');
  return { field, path, failUndetermined };
}

const FAIL_UNDETERMINED = 'fail_revocation_undetermined';

const ATTEMPTS = 3;

/** What is in files by their paths, or why it is not known. */
type Contents = ReadonlyMap<string, Result<Buffer, string>>;

/**
 * Reads files as they are at one moment: again, if one of them was replaced in the meantime. Kubernetes replaces all files
 * of a directory at once, by a link; Istio one after the other.
 */
export function readAtOneMoment(
  files: readonly NamedFile[],
  read: typeof readRegularFile = readRegularFile,
): Contents {
  for (let attempt = 1; ; attempt++) {
    const before = new Map(files.map((file) => [file, fingerprintOf(file)]));
    const contents = new Map<string, Result<Buffer, string>>();
    for (const { field, path } of files) {
      const content = read(path, { maxBytes: MAX_BUNDLE_BYTES });
      const problem = `${field} ${path} cannot be read`;
      contents.set(path, content.ok ? content : err(`${problem}: ${content.error}`));
    }
    const changing = files.filter((file) => fingerprintOf(file) !== before.get(file));
    if (changing.length > 0 && attempt < ATTEMPTS) continue;
    for (const { field, path } of changing) {
      if (contents.get(path)?.ok)
        contents.set(path, err(`${field} ${path} changes while it is read`));
    }
    return contents;
  }
}

/** What changes whenever the file does, also by way of links; empty when it cannot be looked at. */
function fingerprintOf({ path }: NamedFile): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    // The reading finds out why.
    return '';
  }
}

/** The environment of {@link CertificateFiles}. */
export interface CertificateFilesOptions extends Omit<LastGoodOptions, 'noun'> {
  /** Default: from the file system. */
  readonly read?: typeof readRegularFile;
}

/** Files that cannot be read or used are read again after this, as Istio replaces a key before its certificate. */
const RETRY_MS = 1000;
const OTHERS_READ = 0o004;

/**
 * Certificates from files, which may be replaced while they are in use. While they are watched, they are read when the
 * system reports a change in their directories, at the interval, and a second after a failure. What cannot be read or used
 * replaces nothing; the authorities and the identity fail independently. Nothing keeps the process alive.
 */
export class CertificateFiles extends WatchedCertificates {
  private readonly rootsFiles: readonly NamedFile[];
  private readonly identityFiles: readonly NamedFile[];
  private readonly revocation: RevocationFiles | undefined;
  private fileWatches: readonly Handle[] = [];
  private timer: Handle | undefined;
  private expired: Identity | undefined;
  private hasCheckedMode = false;

  constructor(
    private readonly config: CertificateFilesConfig,
    private readonly options: CertificateFilesOptions,
  ) {
    const { roots, identity, revocation } = config;
    super(options, {
      roots: `${roots?.field} ${roots?.path}`,
      identity: `certificate_file ${identity?.[0].path}`,
    });
    this.revocation = revocation && new (loadRevocation().RevocationFiles)(revocation, options);
    this.rootsFiles = roots === undefined ? [] : [roots];
    this.identityFiles = identity ?? [];
  }

  /** The certificates as last read. A part without a file is an error. */
  override get current(): Certificates {
    const { roots, identity } = super.current;
    const without = (field: string) => err(`${this.options.subject}has no ${field}`);
    return {
      roots: this.config.roots === undefined ? without('ca_certificate_file') : roots,
      identity: this.config.identity === undefined ? without('certificate_file') : identity,
    };
  }

  /** Reads the files. @returns whether anything is different now. */
  read(): boolean {
    const contents = readAtOneMoment(this.files, this.options.read);
    this.revocation?.read();
    const hasNewRoots = update(this.roots, this.rootsFiles, contents, (text) =>
      this.parseRoots(text),
    );
    const hasNewIdentity = update(this.identity, this.identityFiles, contents, parseIdentity);
    this.warnAboutIdentity();
    return hasNewRoots || hasNewIdentity;
  }

  private parseRoots(text: string): Result<TrustedRoots, string> {
    const parse =
      this.config.roots?.field === 'ca_certificate_file' ? parsePemRoots : parseTrustBundleMap;
    const parsed = parse(text);
    if (!parsed.ok || this.revocation === undefined) return parsed;
    return ok({ ...parsed.value, revocation: this.revocation });
  }

  protected start(): void {
    if (this.files.length === 0) return;
    // Before the reading, so that no change is missed.
    this.watchDirectories();
    this.refresh();
  }

  protected stop(): void {
    this.timer?.release();
    for (const watch of this.fileWatches) watch.release();
    this.fileWatches = [];
  }

  private get files(): readonly NamedFile[] {
    return [...this.rootsFiles, ...this.identityFiles];
  }

  /** A watch on a directory ends with it: another one in its place needs another watch. */
  private watchDirectories(): void {
    for (const watch of this.fileWatches) watch.release();
    const { revocation, refreshIntervalMs } = this.config;
    const options = { clock: this.options.clock, pollMs: refreshIntervalMs };
    const watched = revocation === undefined ? this.files : [...this.files, revocation];
    this.fileWatches = watched.map(({ path }) => watchFile(path, () => this.refresh(), options));
  }

  /** What is thrown is a mistake of this package or of a watcher, and ends nothing else. */
  private refresh(): void {
    try {
      const isChanged = this.read();
      this.schedule();
      if (isChanged) this.notify();
    } catch (error) {
      const { logger } = this.options;
      logger.error(() => `unexpected error while certificates are read: ${errorStack(error)}`);
    }
  }

  private schedule(): void {
    const { refreshIntervalMs } = this.config;
    const isFailing = this.roots.isFailing || this.identity.isFailing;
    const delayMs = isFailing ? RETRY_MS : refreshIntervalMs;
    this.timer?.release();
    this.timer = this.options.clock.setTimer(() => {
      this.watchDirectories();
      this.refresh();
    }, delayMs);
  }

  /** An expired certificate stays in use: the server decides, and the clock here may be wrong. */
  private warnAboutIdentity(): void {
    const [certificate, privateKey] = this.config.identity ?? [];
    const { result } = this.identity;
    if (certificate === undefined || result?.ok !== true) return;
    const { clock, logger, subject } = this.options;
    const { validTo } = new X509Certificate(result.value.certificateChain);
    if (Date.parse(validTo) < clock.now() && this.expired !== result.value) {
      this.expired = result.value;
      const text = `certificate_file ${certificate.path} has expired on ${validTo}; it stays in use`;
      logger.error(() => `${subject}${text}`);
    }
    if (this.hasCheckedMode) return;
    this.hasCheckedMode = true;
    const { path = '' } = privateKey ?? {};
    if (!isReadByOthers(path)) return;
    logger.info(() => `${subject}private_key_file ${path} can be read by every user`);
  }
}

/** Windows has no modes of this kind. */
function isReadByOthers(path: string): boolean {
  if (process.platform === 'win32') return false;
  try {
    return (statSync(path).mode & OTHERS_READ) !== 0;
  } catch {
    return false;
  }
}

/** Takes what was read of the files that a part is in, if there are any. @returns whether the part is another one. */
function update<T>(
  part: LastGood<T>,
  files: readonly NamedFile[],
  contents: Contents,
  parse: (text: string, second: string) => Result<T, string>,
): boolean {
  if (files.length === 0) return false;
  const bytes: Buffer[] = [];
  for (const { path } of files) {
    const content = contents.get(path) ?? err(`${path} was not read`);
    if (!content.ok) return part.fail(content.error);
    bytes.push(content.value);
  }
  return part.update(bytes, () => {
    const [text = '', second = ''] = bytes.map(String);
    const parsed = parse(text, second);
    if (parsed.ok) return parsed;
    const names = files.map(({ field, path }) => `${field} ${path}`).join(' and ');
    return err(`${names} cannot be used${files.length > 1 ? ' together' : ''}: ${parsed.error}`);
  });
}
