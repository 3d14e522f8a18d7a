import { constants, verify, type KeyObject, type X509Certificate } from 'node:crypto';
import { readDer } from '../../util/der';
import { ExtensionId, readCertificateFields } from '../peer/certificate-fields';

/** The signature of a list, and what it signs. */
export interface Signature {
  /** `null` where the algorithm has one of its own. */
  readonly digest: string | null;
  readonly isPss: boolean;
  readonly content: Buffer;
  readonly bytes: Buffer;
}

/** A complete list of the certificates that an authority has revoked, among those that it has signed itself (RFC 5280, 5). */
export class RevocationList {
  /** The last certificate that was compared with the signature. */
  private compared: { readonly fingerprint: string; readonly isSigner: boolean } | undefined;

  constructor(
    /** The name of the authority in the text of RFC 2253. */
    readonly issuer: string,
    /** The authority and its key, as far as the list names them: the same for the list that replaces it. */
    readonly origin: string,
    /** Their contents, a byte for each character. */
    private readonly serialNumbers: ReadonlySet<string>,
    private readonly signature: Signature,
  ) {}

  /** @param serialNumber Its content, a byte for each character. */
  has(serialNumber: string): boolean {
    return this.serialNumbers.has(serialNumber);
  }

  /** Whether an authority has signed the list, and may sign lists. Its signature is verified once. */
  isSignedBy(authority: X509Certificate): boolean {
    const { fingerprint256: fingerprint } = authority;
    if (this.compared?.fingerprint !== fingerprint) {
      const isSigner = maySignLists(authority) && isValid(this.signature, authority.publicKey);
      this.compared = { fingerprint, isSigner };
    }
    return this.compared.isSigner;
  }
}

/** The bit `cRLSign` in the first byte of a key usage. */
const LIST_SIGN_BIT = 0x02;

/** An authority without a key usage may. */
function maySignLists({ raw }: X509Certificate): boolean {
  const usage = readCertificateFields(raw)?.extensions.get(ExtensionId.KEY_USAGE)?.value;
  const bits = usage && readDer(usage, 0);
  if (bits === undefined) return true;
  // After the number of unused bits.
  return ((usage?.[bits.start + 1] ?? 0) & LIST_SIGN_BIT) !== 0;
}

function isValid({ digest, isPss, content, bytes }: Signature, key: KeyObject): boolean {
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  const saltLength = constants.RSA_PSS_SALTLEN_AUTO;
  try {
    return verify(digest, content, isPss ? { key, padding, saltLength } : key, bytes);
  } catch {
    // A key of another kind.
    return false;
  }
}
