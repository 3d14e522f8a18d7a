import type { X509Certificate } from 'node:crypto';
import { asBuffer } from '../../util/bytes';
import { LoggedOnce } from '../../util/logged-once';
import type { Logger } from '../../util/logger';
import { quoteText } from '../../util/text';
import { readCertificateFields } from '../peer/certificate-fields';
import { chainOf, findPath, type PresentedCertificate } from '../peer/certificate-path';
import { distinguishedName } from '../peer/distinguished-name';
import type { Revocation } from '../providers/certificate-provider';
import type { RevocationList } from './revocation-list';

export interface RevocationCheckOptions {
  readonly logger: Logger;
  /** Begins the messages of the log. */
  readonly subject: string;
  /** Names the source of the lists in them. */
  readonly noun: string;
  /** Whether a certificate is refused if no list says whether it is revoked. */
  readonly failUndetermined: boolean;
}

/** A certificate, and the authority that has signed it. */
interface Link {
  readonly certificate: X509Certificate;
  readonly authority: X509Certificate;
}

/** Checks the certificates of peers by revocation lists (gRFC A69). */
export abstract class RevocationCheck implements Revocation {
  /** What was logged: authorities whose lists are not used, for example. */
  private readonly reported = new LoggedOnce();

  protected constructor(private readonly checkOptions: RevocationCheckOptions) {}

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
    // Each is looked up once: lists of an application may be others the next time.
    const unknown: Link[] = [];
    for (const link of links) {
      const isRevoked = this.isRevoked(link);
      if (isRevoked === true) return `${describe(link)} is revoked`;
      if (isRevoked === undefined) unknown.push(link);
    }
    const [first] = this.checkOptions.failUndetermined ? unknown : [];
    return first && `no certificate revocation list says whether ${describe(first)} is revoked`;
  }

  /** Returns the lists that may be about a certificate, and any others. */
  protected abstract listsOf(certificate: X509Certificate): readonly RevocationList[];

  protected get noun(): string {
    return this.checkOptions.noun;
  }

  /** Logs a text, once. */
  protected report(text: string): void {
    const { subject, noun, logger } = this.checkOptions;
    if (this.reported.isFirst(text)) logger.error(() => `${subject}${noun}: ${text}`);
  }

  /** @returns `undefined` if no list says it. */
  private isRevoked({ certificate, authority }: Link): boolean | undefined {
    const name = nameOf(authority);
    const named = this.listsOf(certificate).filter(({ issuer }) => issuer === name);
    const signed = named.filter((list) => list.isSignedBy(authority));
    if (signed.length > 0) {
      const serialNumber = serialNumberOf(certificate);
      return signed.some((list) => list.has(serialNumber));
    }
    if (named.length > 0) {
      this.report(`no revocation list of ${quoteText(name)} is signed by its key, so none is used`);
    }
    return undefined;
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
