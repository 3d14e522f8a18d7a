import { DerTag, enterDer } from '../../util/der';
import { MAX_CURVE_KEY_BYTES } from '../../util/limits';

/**
 * What the bytes of a key say before OpenSSL reads it. OpenSSL computes with the numbers of a key while it decodes it, and their
 * sender chooses them: the public key of DSA with 32,768 bits takes 30 s of the event loop, a point on a curve of its own 90 ms.
 */

/** The beginning of an object identifier in DER, as bytes in hexadecimal. */
const identifier = (content: string) => Buffer.from(content, 'hex');

/** prime-field and characteristic-two-field (ANSI X9.62): a curve that is described in the key, in place of one with a name. */
const FIELDS = [identifier('06072a8648ce3d0101'), identifier('06072a8648ce3d0102')];

/** The algorithms whose private keys are read. */
const ALGORITHMS = new Map([
  ['06092a864886f70d010101', 'RSA'],
  ['06092a864886f70d01010a', 'RSA-PSS'],
  ['06072a8648ce3d0201', 'EC'],
  ['06032b6570', 'Ed25519'],
  ['06032b6571', 'Ed448'],
]);

const KINDS = [...ALGORITHMS.values()].join(', ');

/** Describes why a certificate or key in DER is not read; `undefined` if it may be. */
export function findCurveOfItsOwn(der: Buffer): string | undefined {
  if (!FIELDS.some((field) => der.includes(field))) return undefined;
  return 'an elliptic curve with parameters of its own: use a curve with a name';
}

/**
 * Describes why a private key is not read; `undefined` if it may be.
 * @param label That of its block in PEM, such as `PRIVATE KEY`.
 */
export function findKeyProblem(label: string, der: Buffer): string | undefined {
  const kind = kindOf(label, der);
  if (kind === undefined) return `a private key of another kind than ${KINDS}`;
  if (!kind.startsWith('RSA') && der.length > MAX_CURVE_KEY_BYTES) {
    return `a private key of ${der.length} bytes, more than the limit of ${MAX_CURVE_KEY_BYTES} for ${kind}`;
  }
  return findCurveOfItsOwn(der);
}

function kindOf(label: string, der: Buffer): string | undefined {
  if (label === 'RSA PRIVATE KEY') return 'RSA';
  if (label === 'EC PRIVATE KEY') return 'EC';
  return label === 'PRIVATE KEY' ? algorithmOf(der) : undefined;
}

/** Returns the algorithm of a key in PKCS#8 (RFC 5958): after the version, a sequence that begins with its identifier. */
function algorithmOf(der: Buffer): string | undefined {
  const key = enterDer(der, 0, DerTag.SEQUENCE);
  const version = key === undefined ? undefined : enterDer(der, key.start, DerTag.INTEGER);
  const algorithm = version === undefined ? undefined : enterDer(der, version.end, DerTag.SEQUENCE);
  if (algorithm === undefined) return undefined;
  const id = enterDer(der, algorithm.start, DerTag.OBJECT_IDENTIFIER);
  return id && ALGORITHMS.get(der.toString('hex', algorithm.start, id.end));
}

/**
 * Returns what follows a certificate in the form TRUSTED CERTIFICATE of OpenSSL: for which purposes it is trusted or
 * rejected; empty if nothing does.
 */
export function trustSettings(der: Buffer): Buffer {
  const settings = der.subarray(enterDer(der, 0, DerTag.SEQUENCE)?.end ?? der.length);
  const content = enterDer(settings, 0, DerTag.SEQUENCE);
  return content === undefined ? settings : settings.subarray(content.start);
}
