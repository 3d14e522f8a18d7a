import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorMessage } from '../../util/errors';
import {
  MAX_AUTHORITIES,
  MAX_BUNDLE_BYTES,
  MAX_CERTIFICATE_LENGTH,
  MAX_CHAIN_CHARACTERS,
  MAX_CHAIN_LENGTH,
  MAX_PRIVATE_KEY_LENGTH,
} from '../../util/limits';
import { countOccurrences } from '../../util/text';
import { err, ok, type Result } from '../../util/result';
import { describeExcess, describeLongCertificate, parseCertificate } from './parse-certificate';
import type { Identity, TrustedRoots } from './certificate-provider';
import { findCurveOfItsOwn, findKeyProblem, trustSettings } from './encoded-keys';

const DASHES = '-----';
const BEGIN = `${DASHES}BEGIN `;
const END = `${DASHES}END `;
const NO_END = 'a PEM block has no end';
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
 * Parses every certificate of a text in PEM, each into a block of its own. OpenSSL and `X509Certificate` stop at the
 * first block that they cannot read, without an error, and so trust fewer authorities than are configured, or none.
 *
 * @param limits Of the text and its blocks, which are counted before any is parsed.
 * @returns at least one certificate, or what is wrong. Blocks of other kinds are skipped.
 */
export function parsePemCertificates(
  text: string,
  { maxLength, maxBlocks } = AUTHORITIES,
): Result<readonly string[], string> {
  if (text.length > maxLength) return err(describeExcess(text.length, 'characters', maxLength));
  const count = countPemBlocks(text);
  if (count > maxBlocks) return err(describeExcess(count, 'PEM blocks', maxBlocks));
  const certificates: string[] = [];
  for (const block of scanPem(text)) {
    if (!block.ok) return block;
    if (!CERTIFICATE_LABELS.has(block.value.label)) continue;
    const certificate = parseBlock(block.value);
    if (!certificate.ok) return err(`certificate ${certificates.length + 1}: ${certificate.error}`);
    certificates.push(certificate.value);
  }
  return certificates.length === 0 ? err('no certificate in PEM found') : ok(certificates);
}

/** Returns the bytes of the blocks of a text in PEM that have a label, such as `X509 CRL`, or what is wrong with a block. */
export function readPemBlocks(text: string, label: string): Result<readonly Buffer[], string> {
  const blocks: Buffer[] = [];
  for (const block of scanPem(text)) {
    if (!block.ok) return block;
    if (block.value.label === label) blocks.push(bytesOf(block.value));
  }
  return ok(blocks);
}

/** Parses authorities for every identity. @returns why they cannot be used, otherwise. */
export function parsePemRoots(text: string): Result<TrustedRoots, string> {
  const certificates = parsePemCertificates(text);
  return certificates.ok ? ok({ certificates: certificates.value }) : certificates;
}

function parseBlock(block: PemBlock): Result<string, string> {
  const { pem } = block;
  if (pem.length > MAX_CERTIFICATE_LENGTH) return err(describeLongCertificate(pem.length));
  const der = bytesOf(block);
  // What they say would be lost with the label.
  if (trustSettings(der).length > 0 && findCurveOfItsOwn(der) === undefined) {
    return err('a TRUSTED CERTIFICATE with settings: remove them, or the certificate');
  }
  try {
    const certificate = parseCertificate(der, pem);
    return certificate.ok ? ok(certificate.value.toString()) : certificate;
  } catch (error) {
    return err(errorMessage(error));
  }
}

/** Returns the number of blocks of a text in PEM. Nothing is parsed. */
export function countPemBlocks(text: string): number {
  return countOccurrences(text, BEGIN.trimEnd());
}

/**
 * Checks that a certificate and a private key in PEM belong together.
 * @returns the identity, or what is wrong.
 */
export function parseIdentity(
  certificateChain: string,
  privateKey: string,
): Result<Identity, string> {
  const certificates = parsePemCertificates(certificateChain, CHAIN);
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
  const keyProblem = findProblemOfKeys(privateKey);
  if (keyProblem !== undefined) return err(keyProblem);
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

/** Describes why a text with a private key is not handed to OpenSSL, which looks at every block; `undefined` if it may be. */
function findProblemOfKeys(text: string): string | undefined {
  for (const block of scanPem(text)) {
    if (!block.ok) return block.error;
    const { label } = block.value;
    const der = bytesOf(block.value);
    const isKey = !CERTIFICATE_LABELS.has(label) && label !== 'EC PARAMETERS';
    const problem = isKey ? findKeyProblem(label, der) : findCurveOfItsOwn(der);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns the bytes of a block without its first and last line. */
function bytesOf({ label, pem }: PemBlock): Buffer {
  const start = BEGIN.length + label.length + DASHES.length;
  const end = pem.length - END.length - label.length - DASHES.length;
  return Buffer.from(pem.slice(start, end), 'base64');
}

/** The part of a text in PEM from the first line of a block to its last one. */
interface PemBlock {
  /** Such as `CERTIFICATE`. */
  readonly label: string;
  readonly pem: string;
}

/** The first or last line of a block. */
const LINE = /-----(BEGIN|END) ([^-\n]*)-----/g;

/** The rest of a damaged last line, or the end of a damaged first line such as `BEGIN CERTIFICATE-----`, found by its dashes. */
const REMAINS = /-----END|-----(?<=(?:BEGIN|END) [A-Z0-9 ]+-----)/;

/**
 * Finds the blocks of a text in PEM. Text between them is skipped, unless it is what is left of a damaged block: that is an
 * error, after which there are no more blocks. The time is in proportion to the text, whatever it is.
 */
function* scanPem(text: string): Iterable<Result<PemBlock, string>> {
  let at = 0;
  let first: RegExpExecArray | undefined;
  for (const line of text.matchAll(LINE)) {
    const end = line.index + line[0].length;
    const block =
      first === undefined
        ? findRemains(text.slice(at, line[1] === 'END' ? end : line.index))
        : readBlock(text, first, line);
    if (typeof block === 'string') {
      yield err(block);
      return;
    }
    if (block !== undefined) yield ok(block);
    first = first === undefined ? line : undefined;
    at = end;
  }
  const problem = first === undefined ? findRemains(text.slice(at)) : NO_END;
  if (problem !== undefined) yield err(problem);
}

/** Reads a block, which ends with its own label before another one begins. @returns what is wrong with it, otherwise. */
function readBlock(text: string, first: RegExpExecArray, last: RegExpExecArray): PemBlock | string {
  const [, , label = ''] = first;
  const body = text.slice(first.index + BEGIN.length + label.length, last.index);
  const isWhole = last[1] === 'END' && last[2] === label;
  if (!isWhole || body.includes(END, DASHES.length) || body.includes(BEGIN.trimEnd()))
    return NO_END;
  return { label, pem: text.slice(first.index, last.index + last[0].length) };
}

/** Describes what a text outside of blocks has of a damaged one. */
function findRemains(gap: string): string | undefined {
  // A first line without a label.
  if (gap.includes(BEGIN.trimEnd())) return NO_END;
  return REMAINS.test(gap) ? 'a PEM block has no beginning' : undefined;
}
