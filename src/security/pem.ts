import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorMessage } from '../util/error-message';
import { countOccurrences } from '../util/count-occurrences';
import { err, ok, type Result } from '../util/result';
import {
  describeExcess,
  MAX_AUTHORITIES,
  MAX_CHAIN_LENGTH,
  MAX_PRIVATE_KEY_LENGTH,
} from './certificate-limits';
import type { Identity } from './certificate-provider';

const BEGIN = '-----BEGIN';
/** A block of PEM, or what is left of one that has no end. */
const BLOCK = /-----BEGIN ([^\n-]*)-----[^]*?(?:-----END \1-----|$)/g;
/** What is left of a block whose first line is damaged. */
const STRAY = /-----END|(?:BEGIN|END) [A-Z0-9 ]+-----/;
const CERTIFICATE_LABELS: ReadonlySet<string> = new Set([
  'CERTIFICATE',
  'X509 CERTIFICATE',
  'TRUSTED CERTIFICATE',
]);

/**
 * Parses every certificate of a text in PEM, each into a block of its own. OpenSSL and `X509Certificate` stop at the first
 * block that they cannot read, without an error, and so trust fewer authorities than are configured, or none.
 *
 * @param limit Of blocks, which are counted before any is parsed.
 * @returns at least one certificate, or what is wrong. Blocks of other kinds are skipped.
 */
export function parsePemCertificates(
  text: string,
  limit = MAX_AUTHORITIES,
): Result<readonly string[], string> {
  const count = countPemBlocks(text);
  if (count > limit) return err(describeExcess(count, 'PEM blocks', limit));
  const certificates: string[] = [];
  for (const [block, label = ''] of text.matchAll(BLOCK)) {
    const isClosed = block.endsWith(`-----END ${label}-----`) && block.lastIndexOf(BEGIN) === 0;
    if (!isClosed) return err('a PEM block has no end');
    if (!CERTIFICATE_LABELS.has(label)) continue;
    try {
      certificates.push(new X509Certificate(block).toString());
    } catch (error) {
      return err(`certificate ${certificates.length + 1}: ${errorMessage(error)}`);
    }
  }
  const rest = text.replace(BLOCK, '');
  if (rest.includes(BEGIN)) return err('a PEM block has no end');
  if (STRAY.test(rest)) return err('a PEM block has no beginning');
  return certificates.length === 0 ? err('no certificate in PEM found') : ok(certificates);
}

/** Returns the number of blocks of a text in PEM. Nothing is parsed. */
export function countPemBlocks(text: string): number {
  return countOccurrences(text, BEGIN);
}

/** Checks that a certificate and a private key in PEM belong together. @returns the identity, or what is wrong. */
export function parseIdentity(
  certificateChain: string,
  privateKey: string,
): Result<Identity, string> {
  const certificates = parsePemCertificates(certificateChain, MAX_CHAIN_LENGTH);
  if (!certificates.ok) return certificates;
  if (privateKey.length > MAX_PRIVATE_KEY_LENGTH) {
    return err(`the private key has more than ${MAX_PRIVATE_KEY_LENGTH} characters`);
  }
  // OpenSSL would only say that it was interrupted.
  if (/-----BEGIN ENCRYPTED |^Proc-Type:.*ENCRYPTED/m.test(privateKey)) {
    return err('the private key is encrypted');
  }
  // Node.js ignores an empty text.
  if (!privateKey.includes('PRIVATE KEY-----')) return err('no private key in PEM found');
  try {
    createSecureContext({ cert: certificateChain, key: privateKey });
    // OpenSSL has a place for each kind of key, and does not compare certificates and keys of different kinds.
    const leaf = new X509Certificate(certificateChain);
    if (!leaf.checkPrivateKey(createPrivateKey(privateKey))) {
      return err('the private key is not that of the certificate');
    }
    return ok({ certificateChain, privateKey });
  } catch (error) {
    return err(errorMessage(error));
  }
}
