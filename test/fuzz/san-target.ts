import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import type { SanMatcher } from '../../src/resources/tls/tls';
import { SanMatchers } from '../../src/security/peer/san-matcher';
import { trustDomainOf } from '../../src/security/peer/spiffe-id';
import { readCertificateNames } from '../../src/security/peer/certificate-names';
import type { SubjectAltName } from '../../src/security/peer/subject-alt-names';
import type { Random } from '../../src/util/random';
import { Violations } from '../../src/util/violations';
import { certificateWithNames, type RawName } from '../support/der-certificate';
import {
  isAccepted,
  isReadable,
  referenceTrustDomain,
  type ReferenceMatcher,
} from '../support/reference-san-matcher';
import type { FuzzTarget } from './targets';

/** An input: a certificate and matchers. */
interface Sample {
  readonly names: readonly { readonly type: RawName['type']; readonly hex: string }[];
  readonly matchers: readonly ReferenceMatcher[];
}

const NAME_TYPES: readonly RawName['type'][] = [
  ...(['dns', 'dns', 'uri', 'uri', 'email', 'ip', 'directory', 'other', 'id'] as const),
];
const KINDS = ['exact', 'exact', 'prefix', 'suffix', 'contains', 'regex'] as const;
/** What names are put together from: near misses of one another, and what could break a text that has several. */
const PARTS = [
  'a',
  'A',
  'b',
  '.',
  '.',
  '..',
  '*',
  '*.',
  '-',
  'example',
  'Example',
  '.com',
  'td',
  '/',
  'sa',
  'spiffe://',
  'SPIFFE://',
  'spiffe://td',
  '@',
  ':',
  ', ',
  ',',
  '"',
  '\\',
  '\\u002c',
  '\0',
  '\n',
  "'",
  ' ',
  'DNS:',
  ', DNS:',
  ', URI:',
  'IP Address:',
  '\u00e9',
  '\u00ff',
  '\u007f',
  '%',
  '10.0.0.1',
];
const PATTERNS = ['.*', 'a+', '[a-z.]+', '[*][.]example[.]com', 'spiffe://td/.+', 'a|b', '[^,]*'];

/**
 * Names of certificates, read from their bytes, against matchers (gRFC A29): accepted exactly if a second implementation
 * accepts them.
 */
export function createSanTarget(random: Random): FuzzTarget {
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[], otherwise: T): T => list[below(list.length)] ?? otherwise;
  const text = () => Array.from({ length: below(6) }, () => pick(PARTS, '')).join('');
  const bytes = (length: number) =>
    Buffer.from(Array.from({ length }, () => pick([0, 0, 1, 255], below(256))));
  const content = (type: RawName['type']): Buffer => {
    if (type === 'ip') return bytes(pick([4, 4, 16, 16, 16, 0, 3, 8, 17], 4));
    if (type === 'id') return Buffer.from([0x2a, 0x03]);
    return Buffer.from(text(), type === 'directory' || type === 'other' ? 'utf8' : 'latin1');
  };
  const name = () => {
    const type = pick(NAME_TYPES, 'dns');
    return { type, hex: content(type).toString('hex') };
  };
  const regexes = new Re2Compiler(DEFAULT_LIMITS);
  return {
    name: 'names of certificates',
    share: 4,
    maxMsPerKiB: 10,
    make() {
      const names = Array.from({ length: below(4) }, name);
      const matchers = Array.from({ length: 1 + below(2) }, () =>
        makeMatcher(names, { pick, text }),
      );
      return JSON.stringify({ names, matchers } satisfies Sample);
    },
    run: (input) => check(JSON.parse(Buffer.from(input).toString()) as Sample, regexes),
  };
}

/** Half of the matchers are made from a name that is there. */
function makeMatcher(
  names: Sample['names'],
  { pick, text }: { pick<T>(list: readonly T[], otherwise: T): T; text(): string },
): ReferenceMatcher {
  const kind = pick(KINDS, 'exact');
  const type = pick(['any', 'any', 'dns', 'uri', 'email', 'ip'] as const, 'any');
  const ignoreCase = kind !== 'regex' && pick([true, false], false);
  if (kind === 'regex') return { type, kind, text: pick(PATTERNS, '.*'), ignoreCase };
  const one = pick(names, { type: 'dns', hex: '' });
  const own = Buffer.from(one.hex, 'hex').toString('latin1');
  const part = kind === 'prefix' ? own.slice(0, 4) : own.slice(-4);
  const near = pick(
    [own, own.toUpperCase(), own.toLowerCase(), own.replace('*', 'a'), `${own}.`],
    own,
  );
  const chosen = pick([text(), kind === 'exact' ? near : part], '');
  // Only exact may be empty.
  return { type, kind, text: chosen === '' && kind !== 'exact' ? 'a' : chosen, ignoreCase };
}

function check({ names, matchers }: Sample, regexes: Re2Compiler): string | undefined {
  const raw = names.map(({ type, hex }) => ({ type, bytes: Buffer.from(hex, 'hex') }));
  const read = readCertificateNames(certificateWithNames(raw).raw);
  if (read.ok !== isReadable(raw)) return read.ok ? 'reads invalid names' : read.error;
  if (!read.ok) return undefined;
  const found = read.value.subjectAltNames;
  const own = matchers.map((matcher) => toSanMatcher(matcher, regexes));
  const match = SanMatchers.of(own).match(found);
  const accepted = match.ok && match.value;
  const expected = isAccepted(raw, matchers);
  if (accepted && !expected) return `accepts what the reference rejects: ${JSON.stringify(found)}`;
  if (expected && !accepted) return `rejects what the reference accepts: ${JSON.stringify(found)}`;
  return checkTrustDomains(found);
}

function checkTrustDomains(names: readonly SubjectAltName[]): string | undefined {
  const differing = names.find(({ value }) => trustDomainOf(value) !== referenceTrustDomain(value));
  return differing && `another trust domain than the reference: ${differing.value}`;
}

function toSanMatcher(matcher: ReferenceMatcher, regexes: Re2Compiler): SanMatcher {
  const { type, kind, text, ignoreCase } = matcher;
  if (kind !== 'regex') {
    return { type, matcher: { kind, text: ignoreCase ? text.toLowerCase() : text, ignoreCase } };
  }
  const regex = regexes.compile(text, 1, Violations.root());
  if (regex === undefined) throw new Error(`not a pattern: ${text}`);
  return { type, matcher: { kind, regex } };
}
