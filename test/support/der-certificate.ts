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
  const version = der(0xa0, der(0x02, Buffer.from([2])));
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
  const validity = sequence(time('200101000000Z'), time('491231235959Z'));
  const value = der(0x04, sequence(...names.map(encodeName)));
  const extension = sequence(oid('2.5.29.17'), value);
  const extensions = names.length === 0 ? [] : [der(0xa3, sequence(extension))];
  const content = sequence(
    ...[version, der(0x02, Buffer.from([1])), algorithm, sequence(), validity, sequence()],
    ...[publicKey, ...extensions],
  );
  const signature = der(0x03, Buffer.from([0, 1]));
  return new X509Certificate(sequence(content, algorithm, signature));
}

function encodeName({ type, bytes }: RawName): Buffer {
  if (type === 'other') {
    return der(0xa0, oid('1.3.6.1.5.5.7.8.5'), der(0xa0, der(0x0c, bytes)));
  }
  if (type !== 'directory') return der(0x80 | SAN_TAGS[type], bytes);
  const commonName = sequence(oid('2.5.4.3'), der(0x0c, bytes));
  return der(0xa0 | SAN_TAGS.directory, sequence(der(0x31, commonName)));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
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

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const time = (text: string) => der(0x17, Buffer.from(text));

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 127];
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 127) | 128);
    bytes.push(...digits);
  }
  return der(0x06, Buffer.from(bytes));
}
