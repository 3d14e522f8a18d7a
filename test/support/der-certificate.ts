// Before any certificate: in Node.js 20, `toLegacyObject` loads a part of this module, which breaks it if it is loaded later.
import 'node:tls';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';

/** The tags of the kinds of names in a subjectAltName extension (RFC 5280, 4.2.1.6). */
export const SAN_TAGS = { email: 1, dns: 2, directory: 4, uri: 6, ip: 7, id: 8 } as const;

/** A subject alternative name as it is in a certificate. */
export interface RawName {
  /** `other` is an otherName with a UTF8String, as for XMPP addresses. */
  readonly type: keyof typeof SAN_TAGS | 'other';
  readonly bytes: Buffer;
}

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicKey = keys.publicKey.export({ type: 'spki', format: 'der' });

/** The key of every certificate made here, in PEM. */
export const certificateKey = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Encodes a certificate with these names, whatever bytes they have: openssl would refuse some. Its signature is not valid. */
export function certificateWithNames(names: readonly RawName[]): X509Certificate {
  const value = der(0x04, sequence(...names.map(encodeName)));
  const extension = sequence(oid('2.5.29.17'), value);
  return new X509Certificate(encode({ extensions: names.length === 0 ? [] : [extension] }));
}

/** The public key of RSA with a modulus of so many bits, which is the product of no two primes. @param exponentBytes Of ones. */
export function rsaPublicKey(bits: number, exponentBytes = 3): Buffer {
  const modulus = Buffer.alloc(bits / 8 + 1, 0xff).fill(0, 0, 1);
  const exponent = Buffer.alloc(exponentBytes + 1, 0xff).fill(0, 0, 1);
  const bytes = der(0x03, Buffer.from([0]), sequence(der(0x02, modulus), der(0x02, exponent)));
  return sequence(sequence(oid('1.2.840.113549.1.1.1'), der(0x05)), bytes);
}

/** Encodes a certificate with this public key. Its signature is not valid. */
export function certificateWithKey(spki: Buffer): X509Certificate {
  return new X509Certificate(encode({ spki }));
}

/**
 * Encodes a chain of certificates, each with the name of the next one as its issuer: that of `certificateKey`, and authorities
 * with a key of RSA. No signature is valid, and each takes as long to check as one that is.
 */
export function rsaChain(length: number, rsaKey: Buffer, modulusBits: number): string {
  const constraints = sequence(
    oid('2.5.29.19'),
    der(0x04, sequence(der(0x01, Buffer.from([255])))),
  );
  const signature = der(0x03, Buffer.alloc(1 + modulusBits / 8).fill(0x55, 2));
  const name = (index: number) =>
    sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(`${index}`)))));
  return Array.from({ length }, (_, index) =>
    encode({
      subject: name(index),
      issuer: name(index + 1),
      signature,
      algorithm: sequence(oid('1.2.840.113549.1.1.11'), der(0x05)),
      ...(index > 0 && { spki: rsaKey, extensions: [constraints] }),
    }),
  )
    .map((bytes) => new X509Certificate(bytes).toString())
    .join('');
}

/**
 * Encodes certificates in PEM whose keys are on a curve of their own. OpenSSL takes long to decode each: the points are compressed,
 * and square roots modulo this prime, k * 2^640 + 1, take many steps.
 */
export function slowCurveChain(length: number): string {
  const number = (value: bigint) => Buffer.from(value.toString(16).padStart(166, '0'), 'hex');
  const point = (x: bigint) => Buffer.concat([Buffer.from([2]), number(x)]);
  const prime = 1_049_041n * 2n ** 640n + 1n;
  const field = sequence(oid('1.2.840.10045.1.1'), der(0x02, number(prime)));
  const curve = sequence(der(0x04, number(1n)), der(0x04, number(7n)));
  const one = der(0x02, Buffer.from([1]));
  const order = der(0x02, number(prime - 2n));
  const parameters = sequence(one, field, curve, der(0x04, point(1n)), order, one);
  const spki = sequence(
    sequence(oid('1.2.840.10045.2.1'), parameters),
    der(0x03, Buffer.from([0]), point(5n)),
  );
  const base64 = encode({ spki }).toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`.repeat(length);
}

interface Encoded {
  readonly subject?: Buffer;
  readonly issuer?: Buffer;
  readonly spki?: Buffer;
  readonly extensions?: readonly Buffer[];
  readonly algorithm?: Buffer;
  readonly signature?: Buffer;
}

function encode({
  subject = sequence(),
  issuer = sequence(),
  spki = publicKey,
  extensions = [],
  algorithm = sequence(oid('1.2.840.10045.4.3.2')),
  signature = der(0x03, Buffer.from([0, 1])),
}: Encoded): Buffer {
  const version = der(0xa0, der(0x02, Buffer.from([2])));
  const validity = sequence(time('200101000000Z'), time('491231235959Z'));
  const content = sequence(
    version,
    der(0x02, Buffer.from([1])),
    algorithm,
    issuer,
    validity,
    subject,
    spki,
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
  );
  return sequence(content, algorithm, signature);
}

function encodeName({ type, bytes }: RawName): Buffer {
  if (type === 'other') {
    return der(0xa0, oid('1.3.6.1.5.5.7.8.5'), der(0xa0, der(0x0c, bytes)));
  }
  if (type !== 'directory') return der(0x80 | SAN_TAGS[type], bytes);
  const commonName = sequence(oid('2.5.4.3'), der(0x0c, bytes));
  return der(0xa0 | SAN_TAGS.directory, sequence(der(0x31, commonName)));
}

/** Encodes a value. */
export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length =
    size < 0x80
      ? [size]
      : size < 0x100
        ? [0x81, size]
        : [0x83, size >> 16, (size >> 8) & 255, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

export const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
export const time = (text: string) => der(0x17, Buffer.from(text));

/** Encodes an object identifier such as `2.5.29.17`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 127];
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 127) | 128);
    bytes.push(...digits);
  }
  return der(0x06, Buffer.from(bytes));
}
