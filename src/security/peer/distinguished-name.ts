import { readDer, readDerChildren, DerTag, type DerValue } from '../../util/der';

/** The keywords of RFC 2253, 2.3, by object identifier in hexadecimal. */
const KEYWORDS: ReadonlyMap<string, string> = new Map([
  ['550403', 'CN'],
  ['550407', 'L'],
  ['550408', 'ST'],
  ['55040a', 'O'],
  ['55040b', 'OU'],
  ['550406', 'C'],
  ['550409', 'STREET'],
  ['0992268993f22c640119', 'DC'],
  ['0992268993f22c640101', 'UID'],
]);

const Text = { UTF8: 0x0c, PRINTABLE: 0x13, TELETEX: 0x14, IA5: 0x16, BMP: 0x1e } as const;

/**
 * Returns a name such as a subject in the text of RFC 2253: the last part first, `CN=web,O=Acme`. Node.js has another order
 * and no escapes.
 *
 * @returns `undefined` if it cannot be read.
 */
export function distinguishedName(der: Buffer, name: DerValue): string | undefined {
  const parts = readDerChildren(der, name);
  const texts = parts?.map((part) => relativeName(der, part)).reverse();
  return texts?.includes(undefined) === false ? texts.join(',') : undefined;
}

function relativeName(der: Buffer, set: DerValue): string | undefined {
  const attributes = set.tag === DerTag.SET ? readDerChildren(der, set) : undefined;
  const texts = attributes?.map((attribute) => describeAttribute(der, attribute));
  return texts?.includes(undefined) === false ? texts.join('+') : undefined;
}

function describeAttribute(der: Buffer, attribute: DerValue): string | undefined {
  const id = readDer(der, attribute.start, attribute.end);
  const value = id && readDer(der, id.end, attribute.end);
  if (id?.tag !== DerTag.OBJECT_IDENTIFIER || value === undefined) return undefined;
  const keyword = KEYWORDS.get(der.toString('hex', id.start, id.end));
  const text = keyword === undefined ? undefined : readText(der, value);
  // The value with tag and length, as RFC 2253 has it for types without a keyword.
  const encoded = () => `#${der.toString('hex', id.end, value.end)}`;
  const type = keyword ?? dottedIdentifier(der.subarray(id.start, id.end));
  return `${type}=${text === undefined ? encoded() : escapeText(text)}`;
}

function readText(der: Buffer, { tag, start, end }: DerValue): string | undefined {
  switch (tag) {
    case Text.UTF8:
      return der.toString('utf8', start, end);
    case Text.PRINTABLE:
    case Text.TELETEX:
    case Text.IA5:
      return der.toString('latin1', start, end);
    case Text.BMP:
      // Big-endian.
      return (end - start) % 2 === 0
        ? Buffer.from(der.subarray(start, end)).swap16().toString('utf16le')
        : undefined;
    default:
      return undefined;
  }
}

function escapeText(text: string): string {
  return text.replace(/[,+"\\<>;]|^[ #]| $/g, '\\$&');
}

function dottedIdentifier(bytes: Buffer): string {
  const numbers: bigint[] = [];
  let number = 0n;
  for (const byte of bytes) {
    number = (number << 7n) | BigInt(byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0n;
  }
  const [first = 0n, ...rest] = numbers;
  const root = first < 80n ? first / 40n : 2n;
  return [root, first - root * 40n, ...rest].join('.');
}
