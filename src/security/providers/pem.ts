import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorMessage } from '../../util/error-message';
import { countOccurrences } from '../../util/count-occurrences';
import { err, ok, type Result } from '../../util/result';
import type { Steps } from '../../util/steps';
import {
  describeExcess,
  describeLongCertificate,
  isStepOver,
  MAX_AUTHORITIES,
  MAX_BUNDLE_BYTES,
  MAX_CERTIFICATE_LENGTH,
  MAX_CHAIN_CHARACTERS,
  MAX_CHAIN_LENGTH,
  MAX_PRIVATE_KEY_LENGTH,
} from './certificate-limits';
import type { Identity } from './certificate-provider';
import { describeLargeKey } from './key-limits';
import { scanPem } from './pem-blocks';

const BEGIN = '-----BEGIN';
const CERTIFICATE_LABELS: ReadonlySet<string> = new Set([
  'CERTIFICATE',
  'X509 CERTIFICATE',
  'TRUSTED CERTIFICATE',
]);

interface PemLimits {
  readonly maxLength: number;
  readonly maxBlocks: number;
}

const AUTHORITIES: PemLimits = { maxLength: MAX_BUNDLE_BYTES, maxBlocks: MAX_AUTHORITIES };
const CHAIN: PemLimits = { maxLength: MAX_CHAIN_CHARACTERS, maxBlocks: MAX_CHAIN_LENGTH };

/**
 * Parses every certificate of a text in PEM, each into a block of its own, in steps. OpenSSL and `X509Certificate` stop at the
 * first block that they cannot read, without an error, and so trust fewer authorities than are configured, or none.
 *
 * @param limits Of the text and its blocks, which are counted before any is parsed.
 * @returns at least one certificate, or what is wrong. Blocks of other kinds are skipped.
 */
export function* parsePemCertificates(
  text: string,
  { maxLength, maxBlocks } = AUTHORITIES,
): Steps<Result<readonly string[], string>> {
  if (text.length > maxLength) return err(describeExcess(text.length, 'characters', maxLength));
  const count = countPemBlocks(text);
  if (count > maxBlocks) return err(describeExcess(count, 'PEM blocks', maxBlocks));
  const certificates: string[] = [];
  for (const block of scanPem(text)) {
    if (!block.ok) return block;
    const { label, pem } = block.value;
    if (!CERTIFICATE_LABELS.has(label)) continue;
    if (isStepOver(certificates.length)) yield;
    const certificate = parseBlock(pem);
    if (!certificate.ok) return err(`certificate ${certificates.length + 1}: ${certificate.error}`);
    certificates.push(certificate.value);
  }
  return certificates.length === 0 ? err('no certificate in PEM found') : ok(certificates);
}

function parseBlock(block: string): Result<string, string> {
  if (block.length > MAX_CERTIFICATE_LENGTH) return err(describeLongCertificate(block.length));
  try {
    const certificate = new X509Certificate(block);
    const problem = describeLargeKey(certificate);
    return problem === undefined ? ok(certificate.toString()) : err(problem);
  } catch (error) {
    return err(errorMessage(error));
  }
}

/** Returns the number of blocks of a text in PEM. Nothing is parsed. */
export function countPemBlocks(text: string): number {
  return countOccurrences(text, BEGIN);
}

/**
 * Checks that a certificate and a private key in PEM belong together, in steps.
 * @returns the identity, or what is wrong.
 */
export function* parseIdentity(
  certificateChain: string,
  privateKey: string,
): Steps<Result<Identity, string>> {
  const certificates = yield* parsePemCertificates(certificateChain, CHAIN);
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
