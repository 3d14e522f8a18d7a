/** Tags of values in DER (X.690). */
export const DerTag = {
  BOOLEAN: 0x01,
  INTEGER: 0x02,
  BIT_STRING: 0x03,
  OCTET_STRING: 0x04,
  OBJECT_IDENTIFIER: 0x06,
  SEQUENCE: 0x30,
  SET: 0x31,
} as const;

/** A value in DER, by where its content begins and ends in the bytes around it. */
export interface DerValue {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/** The longest length that is read, in bytes of it: 16 MiB. */
const MAX_LENGTH_BYTES = 3;

/**
 * Reads the value that begins at a place. Tags of several bytes are not read: certificates and keys have none.
 *
 * @param limit Where the value must have ended.
 * @returns `undefined` if the value is not whole.
 */
export function readDer(der: Buffer, at: number, limit = der.length): DerValue | undefined {
  const tag = der[at];
  const first = der[at + 1];
  if (tag === undefined || first === undefined) return undefined;
  // A length of its own size is in the bytes that follow; 0x80 would be one that is not known.
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80) return undefined;
  const start = at + 2 + lengthBytes;
  if (lengthBytes > MAX_LENGTH_BYTES || start > limit) return undefined;
  const length = lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes);
  const end = start + length;
  return end > limit ? undefined : { tag, start, end };
}

/** Reads the value that begins at a place; `undefined` if it has another tag, or is not whole. */
export function enterDer(der: Buffer, at: number, tag: number): DerValue | undefined {
  const value = readDer(der, at);
  return value?.tag === tag ? value : undefined;
}

/** Reads the values inside of another one; `undefined` if one of them is not whole. */
export function readDerChildren(
  der: Buffer,
  { start, end }: Pick<DerValue, 'start' | 'end'>,
): readonly DerValue[] | undefined {
  const children: DerValue[] = [];
  for (let at = start; at < end;) {
    const child = readDer(der, at, end);
    if (child === undefined) return undefined;
    children.push(child);
    at = child.end;
  }
  return children;
}
