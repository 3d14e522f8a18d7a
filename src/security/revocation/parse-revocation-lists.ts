import { DerTag, readDer, readDerChildren, type DerValue } from '../../util/der';
import { errorMessage } from '../../util/errors';
import { err, ok, type Result } from '../../util/result';
import { ExtensionId, readExtensions, type Extensions } from '../peer/certificate-fields';
import { distinguishedName } from '../peer/distinguished-name';
import { readPemBlocks } from '../providers/pem';
import { RevocationList, type Signature } from './revocation-list';

/** The digests of signatures, by the object identifiers of both together in hexadecimal. */
const DIGESTS: ReadonlyMap<string, string | null> = new Map([
  // RSA
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
  // ECDSA
  ['2a8648ce3d040302', 'sha256'],
  ['2a8648ce3d040303', 'sha384'],
  ['2a8648ce3d040304', 'sha512'],
  // Ed25519
  ['2b6570', null],
]);

/** RSASSA-PSS, and the digests that its parameters may name. */
const PSS = '2a864886f70d01010a';
const PSS_DIGESTS = [
  ['608648016503040201', 'sha256'],
  ['608648016503040202', 'sha384'],
  ['608648016503040203', 'sha512'],
] as const;

/**
 * Parses the certificate revocation lists of a file: any number in PEM, or one in DER.
 *
 * @returns at least one, or why none of them is used.
 */
export function parseRevocationLists(file: Buffer): Result<readonly RevocationList[], string> {
  const isDer = file[0] === DerTag.SEQUENCE;
  const encoded = isDer ? ok([file]) : readPemBlocks(file.toString('latin1'), 'X509 CRL');
  if (!encoded.ok) return encoded;
  if (encoded.value.length === 0) return err('no certificate revocation list in PEM or DER found');
  try {
    return ok(encoded.value.map(parseRevocationList));
  } catch (error) {
    return err(errorMessage(error));
  }
}

const EXTENSIONS_TAG = 0xa0;

/** Parses a `CertificateList` (RFC 5280, 5.1). @throws Error why it is not used. */
function parseRevocationList(der: Buffer): RevocationList {
  const whole = readable(readDer(der, 0));
  const [content, algorithm, bits] = childrenOf(der, whole);
  const fields = childrenOf(der, content);
  // The version may be absent. After the issuer comes `thisUpdate`, and then what is optional.
  const [signedAlgorithm, issuer, , ...rest] =
    fields[0]?.tag === DerTag.INTEGER ? fields.slice(1) : fields;
  const algorithmBytes = bytesOf(der, algorithm);
  const isWhole = whole.end === der.length && bits?.tag === DerTag.BIT_STRING;
  if (!isWhole || !algorithmBytes.equals(bytesOf(der, signedAlgorithm))) {
    throw new Error(NOT_READABLE);
  }
  const signature: Signature = {
    ...readAlgorithm(algorithmBytes),
    content: der.subarray(whole.start, content?.end),
    // After the number of unused bits.
    bytes: bytesOf(der, bits).subarray(1),
  };
  const extensions = readListExtensions(der, rest);
  const keyId = extensions.get(ExtensionId.AUTHORITY_KEY_IDENTIFIER)?.value.toString('hex') ?? '';
  const name = readable(distinguishedName(der, readable(issuer)));
  const serialNumbers = readSerialNumbers(
    der,
    rest.find(({ tag }) => tag === DerTag.SEQUENCE),
  );
  return new RevocationList(name, `${name} ${keyId}`, serialNumbers, signature);
}

const NOT_READABLE = 'a certificate revocation list cannot be read';

/** @throws Error if a value could not be read. */
function readable<T>(value: T | undefined): T {
  if (value === undefined) throw new Error(NOT_READABLE);
  return value;
}

function bytesOf(der: Buffer, value: DerValue | undefined): Buffer {
  const { start, end } = readable(value);
  return der.subarray(start, end);
}

function childrenOf(der: Buffer, value: DerValue | undefined): readonly DerValue[] {
  return readable(readDerChildren(der, readable(value)));
}

/** Reads an `AlgorithmIdentifier`. @throws Error if the algorithm is unsupported. */
function readAlgorithm(algorithm: Buffer): Pick<Signature, 'digest' | 'isPss'> {
  const name = bytesOf(algorithm, readDer(algorithm, 0)).toString('hex');
  const isPss = name === PSS;
  const digest = isPss
    ? PSS_DIGESTS.find(([id]) => algorithm.includes(Buffer.from(id, 'hex')))?.[1]
    : DIGESTS.get(name);
  if (digest === undefined) throw new Error('its signature algorithm is unsupported');
  return { digest, isPss };
}

/** @throws Error if an extension says that it is a list of another kind than those that are used (gRFC A69). */
function readListExtensions(der: Buffer, fields: readonly DerValue[]): Extensions {
  const around = fields.find(({ tag }) => tag === EXTENSIONS_TAG);
  if (around === undefined) return new Map();
  const [list] = childrenOf(der, around);
  const extensions = readable(readExtensions(der, readable(list)));
  const problem = findUnsupported(extensions);
  if (problem !== undefined) throw new Error(problem);
  return extensions;
}

const DISTRIBUTION_POINT_TAG = 0xa0;

function findUnsupported(extensions: Extensions): string | undefined {
  if (extensions.has(ExtensionId.DELTA_LIST_INDICATOR)) {
    return 'delta lists are unsupported: only complete lists are used';
  }
  for (const [id, { isCritical, value }] of extensions) {
    if (id !== ExtensionId.ISSUING_DISTRIBUTION_POINT) {
      if (isCritical) return 'the list has an unsupported critical extension';
      continue;
    }
    // Where the list is published does not matter.
    const scope = childrenOf(value, readDer(value, 0));
    if (scope.some(({ tag }) => tag !== DISTRIBUTION_POINT_TAG)) {
      return 'lists that are indirect, or only for some certificates or reasons, are unsupported';
    }
  }
  return undefined;
}

/** @throws Error if an entry has an extension without which it must not be used. */
function readSerialNumbers(der: Buffer, revoked: DerValue | undefined): ReadonlySet<string> {
  const serialNumbers = new Set<string>();
  for (const { start, end } of revoked === undefined ? [] : childrenOf(der, revoked)) {
    const { start: from, end: to } = readable(readDer(der, start, end));
    serialNumbers.add(der.toString('latin1', from, to));
    const date = readable(readDer(der, to, end));
    if (date.end === end) continue;
    const extensions = readable(readExtensions(der, readable(readDer(der, date.end, end))));
    if ([...extensions.values()].some(({ isCritical }) => isCritical))
      throw new Error('an entry has an unsupported critical extension');
  }
  return serialNumbers;
}
