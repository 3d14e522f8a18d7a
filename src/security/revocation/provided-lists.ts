import type { X509Certificate } from 'node:crypto';
import { atOnce } from '../../util/contained';
import { errorMessage } from '../../util/errors';
import { MAX_REVOCATION_BYTES } from '../../util/limits';
import { parseRevocationLists } from './parse-revocation-lists';
import { RevocationCheck, type RevocationCheckOptions } from './revocation-check';
import type { RevocationList } from './revocation-list';

/** Supplies certificate revocation lists (gRFC A69). */
export interface CrlProvider {
  /**
   * Returns the list of the issuer of a certificate, in PEM or DER; `undefined` if there is none. Called in each handshake, for the
   * certificate of the peer and for each authority between it and the trusted one, so it must not wait for anything. If it throws,
   * or the list cannot be used, that is logged, and it is as if there were none.
   */
  crl(certificate: X509Certificate): string | Uint8Array | undefined;
}

interface ParsedList {
  readonly bytes: Buffer;
  readonly lists: ReturnType<typeof parseRevocationLists>;
}

const NONE: readonly RevocationList[] = [];

/** The lists of a provider of an application (gRFC A69). What cannot be used says nothing about certificates, and is logged. */
export class ProvidedLists extends RevocationCheck {
  /** The last list by its issuer, and what it was parsed to. */
  private readonly parsed = new Map<string, ParsedList>();

  constructor(
    private readonly provider: CrlProvider,
    options: Omit<RevocationCheckOptions, 'noun'>,
  ) {
    super({ ...options, noun: 'crlProvider' });
  }

  protected override listsOf(certificate: X509Certificate): readonly RevocationList[] {
    try {
      const list = atOnce(this.provider.crl(certificate), 'crl must not return a promise');
      return list === undefined ? NONE : this.parse(certificate.issuer, bytesOf(list));
    } catch (error) {
      this.report(errorMessage(error));
      return NONE;
    }
  }

  /** @throws Error if it cannot be used. */
  private parse(issuer: string, bytes: Buffer): readonly RevocationList[] {
    let known = this.parsed.get(issuer);
    if (known?.bytes.equals(bytes) !== true) {
      known = { bytes, lists: parseRevocationLists(bytes) };
      this.parsed.set(issuer, known);
    }
    if (!known.lists.ok) throw new Error(known.lists.error);
    return known.lists.value;
  }
}

/**
 * Copies a list, which the application may change later.
 * @throws Error if it is none, or too large.
 */
function bytesOf(list: unknown): Buffer {
  if (typeof list !== 'string' && !(list instanceof Uint8Array)) {
    throw new Error('a list must be a string or a Uint8Array');
  }
  if (list.length > MAX_REVOCATION_BYTES) {
    throw new Error(`a list has more than ${MAX_REVOCATION_BYTES} bytes`);
  }
  return Buffer.from(list);
}
