import type { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { asBuffer } from '../../util/bytes';
import { errorMessage } from '../../util/errors';
import { listDirectory } from '../../util/file-watch';
import { LastGood, type LastGoodOptions } from '../../util/last-good';
import { MAX_REVOCATION_BYTES } from '../../util/limits';
import { LoggedOnce } from '../../util/logged-once';
import { readRegularFile } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import { listFirst, quoteText } from '../../util/text';
import { readCertificateFields } from '../peer/certificate-fields';
import { chainOf, findPath, type PresentedCertificate } from '../peer/certificate-path';
import { distinguishedName } from '../peer/distinguished-name';
import type { Revocation } from '../providers/certificate-provider';
import { parseRevocationLists } from './parse-revocation-lists';
import type { RevocationList } from './revocation-list';

/** Files of certificate revocation lists. */
export interface RevocationFilesConfig {
  /** The field of the configuration that names them. */
  readonly field: 'crl_directory' | 'crl_file';
  readonly path: string;
  /** Whether a certificate is refused if no list says whether it is revoked. */
  readonly failUndetermined: boolean;
}

/** A file as it was read, and its lists. */
interface ReadFile {
  /** `undefined` if it cannot be read. */
  readonly bytes: Buffer | undefined;
  readonly lists: Result<readonly RevocationList[], string>;
}

/** A certificate, and the authority that has signed it. */
interface Link {
  readonly certificate: X509Certificate;
  readonly authority: X509Certificate;
}

/** The revocation lists of a file or directory, as last read: each handshake from then on is checked by them (gRFC A69). */
export class RevocationFiles implements Revocation {
  private files: ReadonlyMap<string, ReadFile> = new Map();
  private lists: readonly RevocationList[] = [];
  private readonly noun: string;
  private readonly reading: LastGood<true>;
  /** The authorities whose lists are not used. */
  private readonly reported = new LoggedOnce();

  constructor(
    private readonly config: RevocationFilesConfig,
    private readonly options: Omit<LastGoodOptions, 'noun' | 'logsFirstFailure'>,
  ) {
    this.noun = `${config.field} ${config.path}`;
    this.reading = new LastGood({ ...options, noun: this.noun, logsFirstFailure: true });
  }

  /**
   * Reads the files. What can be read replaces the earlier lists of the same authorities. All other lists are dropped if
   * everything can be read: otherwise it is not known whose are missing.
   */
  read(): void {
    const paths = listFiles(this.config.path);
    this.files = paths.ok ? this.readFiles(paths.value) : new Map();
    const problems = paths.ok ? [] : [paths.error];
    for (const [path, { lists }] of this.files) {
      if (!lists.ok) problems.push(`${path} cannot be used: ${lists.error}`);
    }
    const lists = [...this.files.values()].flatMap((file) =>
      file.lists.ok ? file.lists.value : [],
    );
    if (problems.length === 0) {
      this.lists = lists;
      this.reading.replace(true);
      return;
    }
    const replaced = new Set(lists.map(({ origin }) => origin));
    this.lists = [...lists, ...this.lists.filter(({ origin }) => !replaced.has(origin))];
    this.reading.fail(`${this.noun}: ${listFirst(problems).join('; ')}`);
  }

  check(leaf: PresentedCertificate, anchors: readonly string[]): string | undefined {
    const path = findPath(chainOf(leaf), anchors);
    if (path === undefined) {
      return 'it is not known which authorities have signed it, so they may be revoked';
    }
    // The last authority is trusted by configuration, and not checked (RFC 5280, 6.1).
    const links = path.slice(1).map((authority, index) => ({
      certificate: path[index] ?? authority,
      authority,
    }));
    const revoked = links.find((link) => this.isRevoked(link) === true);
    if (revoked !== undefined) return `${describe(revoked)} is revoked`;
    const unknown = this.config.failUndetermined
      ? links.find((link) => this.isRevoked(link) === undefined)
      : undefined;
    return unknown && `no certificate revocation list says whether ${describe(unknown)} is revoked`;
  }

  /** @returns `undefined` if no list says it. */
  private isRevoked({ certificate, authority }: Link): boolean | undefined {
    const name = nameOf(authority);
    const named = this.lists.filter(({ issuer }) => issuer === name);
    const signed = named.filter((list) => list.isSignedBy(authority));
    if (signed.length > 0) {
      const serialNumber = serialNumberOf(certificate);
      return signed.some((list) => list.has(serialNumber));
    }
    if (named.length > 0 && this.reported.isFirst(name)) {
      const { subject, logger } = this.options;
      const text = `no revocation list of ${quoteText(name)} is signed by its key, so none is used`;
      logger.error(() => `${subject}${this.noun}: ${text}`);
    }
    return undefined;
  }

  private readFiles(paths: readonly string[]): ReadonlyMap<string, ReadFile> {
    const files = new Map<string, ReadFile>();
    let maxBytes = MAX_REVOCATION_BYTES;
    for (const path of paths) {
      const read = readRegularFile(path, { maxBytes });
      const bytes = read.ok ? read.value : undefined;
      const known = this.files.get(path);
      maxBytes -= bytes?.length ?? 0;
      if (!read.ok) files.set(path, { bytes, lists: read });
      else if (known?.bytes?.equals(read.value) === true) files.set(path, known);
      else files.set(path, { bytes, lists: parseRevocationLists(read.value) });
    }
    return files;
  }
}

/** Lists the file, or the files of the directory. Names that begin with a dot are left out: they are of Kubernetes. */
function listFiles(path: string): Result<readonly string[], string> {
  try {
    if (!statSync(path).isDirectory()) return ok([path]);
    const names = listDirectory(path).filter((name) => !name.startsWith('.'));
    return ok(names.sort().map((name) => join(path, name)));
  } catch (error) {
    return err(`it cannot be read: ${errorMessage(error)}`);
  }
}

function describe({ certificate, authority }: Link): string {
  const { serialNumber } = certificate;
  return `the certificate ${quoteText(nameOf(certificate))} (serial number ${serialNumber}) of ${quoteText(nameOf(authority))}`;
}

/** Returns the subject in the text of RFC 2253; empty if it cannot be read. */
function nameOf({ raw }: X509Certificate): string {
  const fields = readCertificateFields(raw);
  return (fields && distinguishedName(asBuffer(raw), fields.subject)) ?? '';
}

/** Returns the content of the serial number, a byte for each character. */
function serialNumberOf({ raw }: X509Certificate): string {
  const { start, end } = readCertificateFields(raw)?.serialNumber ?? { start: 0, end: 0 };
  return asBuffer(raw).toString('latin1', start, end);
}
