import { BlockList } from 'node:net';
import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import type { SanMatcher, UpstreamTls } from '../../../src/resources/tls/tls';
import { matchesDnsName, SanMatchers } from '../../../src/security/peer/san-matcher';
import { onlyTrustDomain, trustDomainOf } from '../../../src/security/peer/spiffe-id';
import { readCertificateNames } from '../../../src/security/peer/certificate-names';
import type { SubjectAltName } from '../../../src/security/peer/subject-alt-names';
import { Violations } from '../../../src/util/violations';
import { certificateWithNames, type RawName } from '../../support/der-certificate';
import {
  isAccepted,
  type ReferenceMatcher,
  referenceTrustDomain,
} from '../../support/reference-san-matcher';

const regexes = new Re2Compiler(DEFAULT_LIMITS);

function toSanMatcher({ type, kind, text, ignoreCase }: ReferenceMatcher): SanMatcher {
  if (kind === 'regex') {
    const regex = regexes.compile(text, 1, Violations.root());
    if (regex === undefined) throw new Error(`not a pattern: ${text}`);
    return { type, matcher: { kind, regex } };
  }
  return { type, matcher: { kind, text: ignoreCase ? text.toLowerCase() : text, ignoreCase } };
}

const name = (type: RawName['type'], text: string): RawName => ({
  type,
  bytes: Buffer.from(text, 'latin1'),
});
const ip = (hex: string): RawName => ({ type: 'ip', bytes: Buffer.from(hex, 'hex') });
function parsed(...names: readonly RawName[]): readonly SubjectAltName[] {
  const read = readCertificateNames(certificateWithNames(names).raw);
  if (!read.ok) throw new Error(read.error);
  return read.value.subjectAltNames;
}
function matchesSan(name: SubjectAltName, matchers: readonly SanMatcher[]): boolean {
  const match = SanMatchers.of(matchers).match([name]);
  if (!match.ok) throw new Error(match.error);
  return match.value;
}

/** Whether a certificate with the names is accepted. Fails if the reference differs. */
function accepts(names: readonly RawName[], matcher: Partial<ReferenceMatcher>): boolean {
  const whole = { type: 'any', kind: 'exact', text: '', ignoreCase: false, ...matcher } as const;
  const result = parsed(...names).some((each) => matchesSan(each, [toSanMatcher(whole)]));
  expect(isAccepted(names, [whole])).toBe(result);
  return result;
}

describe('an address of a certificate', () => {
  it.each([
    ['0a000001', '10.0.0.1'],
    ['00000000', '0.0.0.0'],
    ['20010db8000000000000000000000001', '2001:db8::1'],
    ['20010db8000000010000000000000001', '2001:db8:0:1::1'],
    ['20010db8000100010001000100010000', '2001:db8:1:1:1:1:1:0'],
    ['00000000000000000000000000000000', '::'],
    ['00000000000000000000000000000001', '::1'],
    ['00000000000000000000ffff0a000001', '::ffff:10.0.0.1'],
    ['fe80000000000000aabbccddeeff0011', 'fe80::aabb:ccdd:eeff:11'],
  ])('returns the address %s in the text of RFC 5952: %s', (hex, text) => {
    expect(parsed(ip(hex))).toEqual([{ type: 'ip', value: text }]);
    expect(accepts([ip(hex)], { text })).toBe(true);
    // What is written here is an address to others, too.
    const list = new BlockList();
    list.addAddress(text, text.includes(':') ? 'ipv6' : 'ipv4');
    expect(list.rules).toHaveLength(1);
  });
});

describe('matchesSan', () => {
  const certificates = {
    dns: [name('dns', 'Api.Example.com')],
    uri: [name('uri', 'spiffe://Td.example/ns/A')],
    email: [name('email', 'Joe@Example.com')],
    ip: [ip('20010db800000000000000000000ABCD')],
  };
  const texts = {
    dns: ['Api.Example.com', 'Api.', '.com', '.Example.', 'Api.[A-Z]xample.com'],
    uri: [
      'spiffe://Td.example/ns/A',
      'spiffe://Td.',
      '/A',
      '.example/',
      'spiffe://Td[.]example/ns/.+',
    ],
    email: ['Joe@Example.com', 'Joe@', '@Example.com', '@Exam', '[A-Z]oe@.*'],
    ip: ['2001:db8::abcd', '2001:db8:', '::abcd', ':db8:', '2001:db8::[a-f]{4}'],
  };
  const kinds = ['exact', 'prefix', 'suffix', 'contains', 'regex'] as const;
  const cases = (['dns', 'uri', 'email', 'ip'] as const).flatMap((type) =>
    kinds.map((kind, index) => [type, kind, texts[type][index] ?? ''] as const),
  );

  it.each(cases)('matches a name of type %s by %s %j', (type, kind, text) => {
    const names = certificates[type];
    expect(accepts(names, { kind, text })).toBe(true);
    expect(accepts(names, { kind, text, type })).toBe(true);
    for (const other of ['dns', 'uri', 'email', 'ip'] as const) {
      if (other !== type) expect(accepts(names, { kind, text, type: other })).toBe(false);
    }
    expect(accepts(names, { kind, text: `x${text}` })).toBe(false);
    expect(accepts(names, { kind, text: `${text}x` })).toBe(false);
  });

  it.each(cases.filter(([type, kind]) => type !== 'ip' && kind !== 'regex'))(
    'ignores the case of a name of type %s by %s %j only with ignore_case, or as an exact domain name',
    (type, kind, text) => {
      const names = certificates[type];
      const isDomain = type === 'dns' && kind === 'exact';
      const other = text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
      const hasCase = other !== text && text.toLowerCase() !== text;
      expect(accepts(names, { kind, text: other, ignoreCase: true })).toBe(true);
      if (hasCase) expect(accepts(names, { kind, text: other })).toBe(isDomain);
    },
  );

  it('matches if any name satisfies any matcher', () => {
    const names = parsed(name('dns', 'a.example'), name('uri', 'spiffe://td/b'));
    const exact = (text: string) =>
      toSanMatcher({ type: 'any', kind: 'exact', text, ignoreCase: false });
    const matchers = [exact('x'), exact('spiffe://td/b')];
    expect(names.map((each) => matchesSan(each, matchers))).toEqual([false, true]);
    expect(names.some((each) => matchesSan(each, []))).toBe(false);
  });

  it('matches no part of a name that has a comma', () => {
    const forged = [name('dns', 'a.example, URI:spiffe://td/admin')];
    expect(accepts(forged, { text: 'spiffe://td/admin' })).toBe(false);
    expect(accepts(forged, { text: 'a.example' })).toBe(false);
    expect(accepts(forged, { kind: 'suffix', text: 'td/admin' })).toBe(true);
  });

  it('matches no name by an empty text', () => {
    for (const text of ['', '..', '../..', '*.']) {
      expect(accepts([name('dns', text)], { text: '' })).toBe(false);
    }
  });
});

describe('a wildcard in a certificate', () => {
  it.each<[string, string, boolean]>([
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'A.EXAMPLE.com', true],
    ['*.Example.com', 'a.example.com.', true],
    ['*.example.com.', 'a.example.com', true],
    ['*.example.com', '*.example.com', true],
    ['*.com', 'example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', '.example.com', false],
    ['*.example.com', 'a.b.example.com', false],
    ['*.example.com', 'aexample.com', false],
    ['*.example.com', 'a.example.org', false],
    ['a*.example.com', 'ab.example.com', false],
    ['*a.example.com', 'ba.example.com', false],
    ['a*.example.com', 'a*.example.com', false],
    ['a.*.com', 'a.b.com', false],
    ['a.*.com', 'a.*.com', false],
    ['*.*.com', 'a.b.com', false],
    ['*.*', 'a.b', false],
    ['*', 'a', false],
    ['*', '*', false],
    ['*.', 'a', false],
    ['*.', '*.', false],
    ['**.example.com', 'a.example.com', false],
    ['..', '..', false],
    ['../..', '../..', false],
    ['a..example', 'a..example', false],
    ['.example', '.example', false],
    ['*..', 'a..', false],
    ['example.com', 'EXAMPLE.com.', true],
    ['example.com', '*.com', false],
    ['example.com', '*', false],
  ])('%s: %s is accepted: %p', (pattern, host, expected) => {
    expect(matchesDnsName(pattern, host)).toBe(expected);
    expect(accepts([name('dns', pattern)], { text: host })).toBe(expected);
  });

  it.each(['prefix', 'suffix', 'contains', 'regex'] as const)('is plain text for %s', (kind) => {
    const text = kind === 'regex' ? '[*].example.com' : '.example.com';
    const isPrefix = kind === 'prefix';
    expect(accepts([name('dns', '*.example.com')], { kind, text })).toBe(!isPrefix);
    expect(accepts([name('dns', '*.example.com')], { kind, text: 'a.example.com' })).toBe(false);
  });

  it.each(['uri', 'email'] as const)('is plain text in a name of type %s', (type) => {
    expect(accepts([name(type, '*.example.com')], { text: 'a.example.com' })).toBe(false);
    expect(accepts([name(type, '*.example.com')], { text: '*.example.com' })).toBe(true);
  });
});

describe('trustDomainOf', () => {
  const long = (length: number) => 'a'.repeat(length);
  it.each<[string, string | undefined]>([
    ['spiffe://td', 'td'],
    ['spiffe://td/a', 'td'],
    ['spiffe://a.b-c_d.9/ns/N/sa/S.t_u-v', 'a.b-c_d.9'],
    ['SPIFFE://td/a', 'td'],
    [`spiffe://${long(255)}/a`, long(255)],
    [`spiffe://${long(256)}/a`, undefined],
    [`spiffe://td/${long(2036)}`, 'td'],
    [`spiffe://td/${long(2037)}`, undefined],
    ['spiffe://td/', undefined],
    ['spiffe://td/a/', undefined],
    ['spiffe://td//a', undefined],
    ['spiffe://td/.', undefined],
    ['spiffe://td/../a', undefined],
    ['spiffe://td/...', 'td'],
    ['spiffe://', undefined],
    ['spiffe:///a', undefined],
    ['spiffe://Td/a', undefined],
    ['spiffe://td:80/a', undefined],
    ['spiffe://user@td/a', undefined],
    ['spiffe://td/a?b', undefined],
    ['spiffe://td/a#b', undefined],
    ['spiffe://td/a%20b', undefined],
    ['spiffe://td/\u00e9', undefined],
    ['spiffe://t\u00e9/a', undefined],
    ['spiffe://td/a\n', undefined],
    ['spiffe://td\n', undefined],
    ['spiffe:/td/a', undefined],
    ['https://td/a', undefined],
    [' spiffe://td/a', undefined],
    ['td', undefined],
    ['', undefined],
  ])('of %j is %j', (id, expected) => {
    expect(trustDomainOf(id)).toBe(expected);
    expect(referenceTrustDomain(id)).toBe(expected);
  });
});

describe('the only trust domain of a server (gRFC A87)', () => {
  const a = { text: 'spiffe://a/x' };
  const belowA = { kind: 'prefix', text: 'spiffe://a/y' } as const;

  it.each<[string, string, readonly Partial<ReferenceMatcher>[], string | undefined]>([
    ['that of the map', 'a', [], 'a'],
    ['the one that all matchers name', 'a b', [a, belowA], 'a'],
    ['unknown without matchers', 'a b', [], undefined],
    ['unknown with matchers that name two', 'a b', [a, { text: 'spiffe://b/x' }], undefined],
    [
      'unknown with the beginning of its name',
      'a b',
      [{ ...belowA, text: 'spiffe://a' }],
      undefined,
    ],
  ])('is %s', (_what, domains, matchers, expected) => {
    const sanMatchers = matchers.map((matcher) =>
      toSanMatcher({ type: 'any', kind: 'exact', text: '', ignoreCase: false, ...matcher }),
    );
    const tls = { sanMatchers, autoSniSanValidation: false } as unknown as UpstreamTls;
    const bundles = new Map(domains.split(' ').map((domain) => [domain, []]));
    expect(onlyTrustDomain(tls, '', bundles)).toBe(expected);
  });
});
