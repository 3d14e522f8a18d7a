import type { RawName } from './der-certificate';

/** A condition on names, in plain words. */
export interface ReferenceMatcher {
  readonly type: 'any' | 'email' | 'dns' | 'uri' | 'ip';
  readonly kind: 'exact' | 'prefix' | 'suffix' | 'contains' | 'regex';
  readonly text: string;
  readonly ignoreCase: boolean;
}

/**
 * Whether one of the names of a certificate satisfies one of the matchers (gRFC A29). Written from the gRFC and the rules of
 * grpc-go, and from the bytes of the certificate: it shares neither code nor the text of Node.js with src/security.
 */
export function isAccepted(
  names: readonly RawName[],
  matchers: readonly ReferenceMatcher[],
): boolean {
  return (
    isReadable(names) &&
    names.some((name) => {
      const text = textOf(name);
      return text !== '' && matchers.some((matcher) => matches(name.type, text, matcher));
    })
  );
}

/** Whether a certificate may be used at all: no text has other bytes than printable ASCII, and no address another length. */
export function isReadable(names: readonly RawName[]): boolean {
  return names.every(({ type, bytes }) => {
    if (type === 'ip') return [4, 16].includes(bytes.length);
    const isText = type === 'dns' || type === 'uri' || type === 'email';
    return !isText || /^[ -~]*$/.test(bytes.toString('latin1'));
  });
}

/** Empty for names that never match. */
function textOf({ type, bytes }: RawName): string {
  if (type === 'dns' || type === 'uri' || type === 'email') return bytes.toString('latin1');
  if (type !== 'ip') return '';
  if (bytes.length === 4) return [...bytes].join('.');
  return bytes.length === 16 ? addressText(bytes) : '';
}

/** The text of RFC 5952. */
function addressText(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index));
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `::ffff:${[...bytes.subarray(12)].join('.')}`;
  }
  let [start, length] = [-1, 1];
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (to < 8 && groups[to] === 0) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const hex = groups.map((group) => group.toString(16));
  if (start < 0) return hex.join(':');
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}

function matches(nameType: RawName['type'], name: string, matcher: ReferenceMatcher): boolean {
  const { type, kind, ignoreCase } = matcher;
  if (type !== 'any' && type !== nameType) return false;
  if (nameType === 'dns' && kind === 'exact' && matcher.text !== '') {
    return matchesDomain(matcher.text, name);
  }
  if (kind === 'regex') return new RegExp(`^(?:${matcher.text})$`).test(name);
  const [value, text] = ignoreCase
    ? [name.toLowerCase(), matcher.text.toLowerCase()]
    : [name, matcher.text];
  if (kind === 'exact') return value === text;
  const at = value.indexOf(text);
  if (kind === 'prefix') return at === 0;
  if (kind === 'contains') return at >= 0;
  return value.length >= text.length && value.slice(value.length - text.length) === text;
}

/** Compares from the last label to the first. */
function matchesDomain(host: string, pattern: string): boolean {
  const labelsOf = (name: string) => name.toLowerCase().replace(/\.$/, '').split('.').reverse();
  const [wanted, given] = [labelsOf(host), labelsOf(pattern)];
  if (given.includes('') || wanted.length !== given.length) return false;
  const last = given.length - 1;
  return given.every((label, index) => {
    if (!label.includes('*')) return label === wanted[index];
    return label === '*' && index === last && last > 0 && wanted[index] !== '';
  });
}

/** The trust domain of a SPIFFE ID, if it is one (https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md). */
export function referenceTrustDomain(id: string): string | undefined {
  if (Buffer.byteLength(id) > 2048) return undefined;
  const match = /^([^:/]*):\/\/([^/]*)(.*)$/s.exec(id);
  const [, scheme = '', domain = '', path = ''] = match ?? [];
  if (scheme.toLowerCase() !== 'spiffe' || domain === '' || domain.length > 255) return undefined;
  if (
    Array.from(domain).some(
      (character) => !'abcdefghijklmnopqrstuvwxyz0123456789.-_'.includes(character),
    )
  ) {
    return undefined;
  }
  if (path === '') return domain;
  const segments = path.slice(1).split('/');
  const isValid = segments.every(
    (segment) => /^[a-z0-9._-]+$/i.test(segment) && !/^\.{1,2}$/.test(segment),
  );
  return isValid ? domain : undefined;
}
