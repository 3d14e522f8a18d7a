import { asBuffer } from '../../util/bytes';
import { DerTag, readDer, readDerChildren, type DerValue } from '../../util/der';

/** The fields of a certificate (RFC 5280, 4.1) that are read. */
export interface CertificateFields {
  readonly serialNumber: DerValue;
  readonly issuer: DerValue;
  readonly subject: DerValue;
  readonly extensions: Extensions;
}

/** Extensions by object identifier in hexadecimal. */
export type Extensions = ReadonlyMap<string, Extension>;

/** An extension of a certificate or of a revocation list. */
export interface Extension {
  readonly isCritical: boolean;
  readonly value: Buffer;
}

/** Object identifiers of extensions in hexadecimal, without tag and length. */
export const ExtensionId = {
  KEY_USAGE: '551d0f',
  SUBJECT_ALT_NAME: '551d11',
  BASIC_CONSTRAINTS: '551d13',
  DELTA_LIST_INDICATOR: '551d1b',
  ISSUING_DISTRIBUTION_POINT: '551d1c',
  NAME_CONSTRAINTS: '551d1e',
  AUTHORITY_KEY_IDENTIFIER: '551d23',
} as const;

const VERSION_TAG = 0xa0;
const EXTENSIONS_TAG = 0xa3;

/** Reads the fields of a certificate; `undefined` if it cannot be read. */
export function readCertificateFields(raw: Uint8Array): CertificateFields | undefined {
  // In Deno they are no Buffer.
  const der = asBuffer(raw);
  const certificate = readDer(der, 0);
  const content = certificate && readDer(der, certificate.start, certificate.end);
  const parts = content && readDerChildren(der, content);
  if (parts === undefined) return undefined;
  // The version may be absent. The algorithm comes before the issuer, and the validity before the subject.
  const [serialNumber, , issuer, , subject] =
    parts[0]?.tag === VERSION_TAG ? parts.slice(1) : parts;
  const last = parts.find(({ tag }) => tag === EXTENSIONS_TAG);
  const extensions = last === undefined ? new Map<string, Extension>() : readInner(der, last);
  if (serialNumber === undefined || issuer === undefined) return undefined;
  return subject && extensions && { serialNumber, issuer, subject, extensions };
}

function readInner(der: Buffer, around: DerValue): Extensions | undefined {
  const list = readDer(der, around.start, around.end);
  return list && readExtensions(der, list);
}

/**
 * Reads the extensions of a certificate, of a revocation list or of an entry of it.
 *
 * @returns `undefined` if one is not whole, or if there are two of a kind, of which others might read the other one.
 */
export function readExtensions(der: Buffer, list: DerValue): Extensions | undefined {
  const items = readDerChildren(der, list);
  if (items === undefined) return undefined;
  const extensions = new Map<string, Extension>();
  for (const item of items) {
    const parts = readDerChildren(der, item);
    const id = parts?.[0];
    const critical = parts?.[1];
    const value = parts?.at(-1);
    if (id?.tag !== DerTag.OBJECT_IDENTIFIER || value?.tag !== DerTag.OCTET_STRING)
      return undefined;
    const name = der.toString('hex', id.start, id.end);
    if (extensions.has(name)) return undefined;
    const isCritical = critical?.tag === DerTag.BOOLEAN && der[critical.start] !== 0;
    extensions.set(name, { isCritical, value: der.subarray(value.start, value.end) });
  }
  return extensions;
}
