import { Metadata } from '../../src/grpc-js';
import { headerValue, MatchedCall } from '../../src/routing/matched-call';
import { matchesHeader, matchesPath, matchesRoute } from '../../src/routing/route-matcher';
import type {
  HeaderCondition,
  PathMatcher,
  RouteMatch,
} from '../../src/resources/route-config/route-config';
import type { StringMatcher } from '../../src/resources/matching/string-matcher';
import type { Random } from '../../src/util/random';
import { forwardTo, regex, route } from '../support/xds-builders';

function metadataOf(headers: Readonly<Record<string, string | readonly string[]>>): Metadata {
  const metadata = new Metadata();
  for (const [name, values] of Object.entries(headers)) {
    for (const value of typeof values === 'string' ? [values] : values) metadata.add(name, value);
  }
  return metadata;
}

const never: Random = () => {
  throw new Error('A random number was drawn');
};

const callOf = (path: string, metadata = new Metadata(), random = never) =>
  MatchedCall.of(path, metadata, random);

describe('matchesPath', () => {
  const prefix = (text: string, caseSensitive = true): PathMatcher => ({
    kind: 'prefix',
    text,
    caseSensitive,
  });
  const path = (text: string, caseSensitive = true): PathMatcher => ({
    kind: 'path',
    text,
    caseSensitive,
  });
  const pattern = (text: string): PathMatcher => ({ kind: 'regex', regex: regex(text) });
  it.each([
    ['the empty prefix', prefix(''), '/a.B/C', true],
    ['a prefix', prefix('/a.B/'), '/a.B/C', true],
    ['a prefix that is the whole', prefix('/a.B/C'), '/a.B/C', true],
    ['a prefix that is longer', prefix('/a.B/Cd'), '/a.B/C', false],
    ['a prefix in another case', prefix('/A.b/'), '/a.B/C', false],
    ['a prefix without case', prefix('/a.b/', false), '/A.B/C', true],
    ['a path', path('/a.B/C'), '/a.B/C', true],
    ['a path that is shorter', path('/a.B/'), '/a.B/C', false],
    ['a path in another case', path('/a.b/c'), '/a.B/C', false],
    ['a path without case', path('/a.b/c', false), '/a.B/C', true],
    ['a pattern', pattern('/a\\.B/.*'), '/a.B/C', true],
    ['a pattern that matches only a part', pattern('/a'), '/a.B/C', false],
    ['alternatives that match only a part', pattern('/a|/b'), '/axx', false],
    ['the second of two alternatives', pattern('/a/b|/c/d'), '/c/d', true],
  ])('%s', (_what, matcher, text, matches) => {
    expect(matchesPath(matcher, callOf(text))).toBe(matches);
  });
});

describe('headerValue', () => {
  it('joins repeated values with a comma', () => {
    expect(headerValue('a', metadataOf({ a: ['1', '2', '3'] }))).toBe('1,2,3');
  });

  it('finds a header in any letter case', () => {
    expect(headerValue('x-a', metadataOf({ 'X-A': 'v' }))).toBe('v');
  });

  it('treats binary headers as absent', () => {
    const metadata = new Metadata();
    metadata.add('x-bin', Buffer.from('v'));
    expect(headerValue('x-bin', metadata)).toBeUndefined();
  });

  it.each([['te'], ['grpc-timeout'], ['grpc-encoding'], ['grpc-accept-encoding'], ['user-agent']])(
    'treats %s as absent, which is not custom metadata (gRFC A28)',
    (name) => expect(headerValue(name, metadataOf({ [name]: 'v' }))).toBeUndefined(),
  );

  it('has the content type of every call, whatever the application sets (gRFC A28)', () => {
    for (const headers of [{}, { 'content-type': 'a/b' }]) {
      expect(headerValue('content-type', metadataOf(headers))).toBe('application/grpc');
    }
  });

  it('distinguishes an empty value from an absent one', () => {
    expect(headerValue('a', metadataOf({ a: '' }))).toBe('');
    expect(headerValue('a', metadataOf({}))).toBeUndefined();
  });

  it('does not find members of objects', () => {
    for (const name of ['constructor', 'tostring', '__proto__']) {
      expect(headerValue(name, metadataOf({}))).toBeUndefined();
    }
  });

  it('shows no pseudo header', () => {
    expect(headerValue(':path', metadataOf({}))).toBeUndefined();
  });
});

describe('matchesHeader', () => {
  const string = (matcher: StringMatcher): HeaderCondition => ({ kind: 'string', matcher });
  const text = (
    kind: 'exact' | 'prefix' | 'suffix' | 'contains',
    of: string,
    ignoreCase = false,
  ): HeaderCondition => string({ kind, text: of, ignoreCase });
  const range = (start: bigint, end: bigint): HeaderCondition => ({ kind: 'range', start, end });
  const present = (is: boolean): HeaderCondition => ({ kind: 'present', present: is });

  it.each<[string, HeaderCondition, string, boolean]>([
    ['exact', text('exact', 'abc'), 'abc', true],
    ['exact, longer', text('exact', 'abc'), 'abcd', false],
    ['exact, other case', text('exact', 'abc'), 'ABC', false],
    ['exact, ignoring case', text('exact', 'abc', true), 'aBc', true],
    ['exact, empty', text('exact', ''), '', true],
    ['prefix', text('prefix', 'ab'), 'abc', true],
    ['prefix, not there', text('prefix', 'bc'), 'abc', false],
    ['prefix, ignoring case', text('prefix', 'ab', true), 'ABC', true],
    ['suffix', text('suffix', 'bc'), 'abc', true],
    ['suffix, not there', text('suffix', 'ab'), 'abc', false],
    ['suffix, ignoring case', text('suffix', 'bc', true), 'aBC', true],
    ['contains', text('contains', 'b'), 'abc', true],
    ['contains, not there', text('contains', 'd'), 'abc', false],
    ['contains, ignoring case', text('contains', 'b', true), 'ABC', true],
    ['pattern', string({ kind: 'regex', regex: regex('a.c') }), 'abc', true],
    ['pattern, only a part', string({ kind: 'regex', regex: regex('a') }), 'abc', false],
    ['range, its start', range(1n, 5n), '1', true],
    ['range, below its start', range(1n, 5n), '0', false],
    ['range, its end', range(1n, 5n), '5', false],
    ['range, below its end', range(1n, 5n), '4', true],
    ['range, negative', range(-5n, -1n), '-3', true],
    ['range, a plus sign', range(1n, 5n), '+2', true],
    ['range, leading zeros', range(1n, 5n), '0002', true],
    ['range, beyond 2^53', range(9007199254740993n, 9007199254740994n), '9007199254740993', true],
    [
      'range, one off beyond 2^53',
      range(9007199254740993n, 9007199254740994n),
      '9007199254740992',
      false,
    ],
    ['range, not a number', range(0n, 5n), 'x', false],
    ['range, empty', range(0n, 5n), '', false],
    ['range, a fraction', range(0n, 5n), '1.5', false],
    ['range, hexadecimal', range(0n, 50n), '0x10', false],
    ['range, a space', range(0n, 5n), ' 1', false],
    ['range, two values', range(0n, 5n), '1,2', false],
    ['present', present(true), '', true],
    ['not present', present(false), '', false],
  ])('%s: and the reverse when inverted', (_what, condition, value, matches) => {
    const metadata = metadataOf({ a: value });
    expect(
      matchesHeader(
        { name: 'a', condition, invert: false, missingAsEmpty: false },
        callOf('/', metadata),
      ),
    ).toBe(matches);
    expect(
      matchesHeader(
        { name: 'a', condition, invert: true, missingAsEmpty: false },
        callOf('/', metadata),
      ),
    ).toBe(!matches);
  });

  it.each<[string, HeaderCondition, boolean, boolean]>([
    ['exact', text('exact', ''), false, false],
    ['exact, inverted', text('exact', 'x'), true, false],
    ['contains', text('contains', ''), false, false],
    ['pattern, inverted', string({ kind: 'regex', regex: regex('x') }), true, false],
    ['range, inverted', range(0n, 1n), true, false],
    ['present', present(true), false, false],
    ['present, inverted', present(true), true, true],
    ['not present', present(false), false, true],
    ['not present, inverted', present(false), true, false],
  ])('of an absent header, by %s', (_what, condition, invert, matches) => {
    expect(
      matchesHeader(
        { name: 'a', condition, invert, missingAsEmpty: false },
        callOf('/', metadataOf({})),
      ),
    ).toBe(matches);
  });

  it.each<[string, HeaderCondition, boolean, boolean]>([
    ['exact', text('exact', ''), false, true],
    ['exact, another text', text('exact', 'x'), false, false],
    ['exact, another text, inverted', text('exact', 'x'), true, true],
    ['pattern for nothing', string({ kind: 'regex', regex: regex('') }), false, true],
    ['pattern, inverted', string({ kind: 'regex', regex: regex('x+') }), true, true],
    ['range', range(0n, 1n), false, false],
    ['range, inverted', range(0n, 1n), true, true],
    // A presence condition ignores the value.
    ['present', present(true), false, false],
    ['present, inverted', present(true), true, true],
    ['not present', present(false), false, true],
  ])(
    'treats an absent header as empty where it says so, by %s',
    (_, condition, invert, matches) => {
      const matcher = { name: 'a', condition, invert, missingAsEmpty: true };
      expect(matchesHeader(matcher, callOf('/', metadataOf({})))).toBe(matches);
    },
  );

  it('compares the joined values', () => {
    const header = {
      name: 'a',
      condition: text('exact', '1,2'),
      invert: false,
      missingAsEmpty: false,
    };
    expect(matchesHeader(header, callOf('/', metadataOf({ a: ['1', '2'] })))).toBe(true);
  });

  it('treats a binary header as absent, also for a condition on absence', () => {
    const metadata = new Metadata();
    metadata.add('x-bin', Buffer.from('v'));
    const header = {
      name: 'x-bin',
      condition: present(false),
      invert: false,
      missingAsEmpty: false,
    };
    expect(matchesHeader(header, callOf('/', metadata))).toBe(true);
  });
});

describe('matchesRoute', () => {
  const match = (change: Partial<RouteMatch>) => route(forwardTo('c'), change).match;
  const header = (name: string) => ({
    name,
    condition: { kind: 'present', present: true } as const,
    invert: false,
    missingAsEmpty: false,
  });
  const none = new Metadata();

  it('requires the path and every header', () => {
    const both = match({ headers: [header('a'), header('b')] });
    expect(matchesRoute(both, callOf('/s/m', metadataOf({ a: '1', b: '2' }), never))).toBe(true);
    expect(matchesRoute(both, callOf('/s/m', metadataOf({ a: '1' }), never))).toBe(false);
    const path = match({ path: { kind: 'path', text: '/s/m', caseSensitive: true } });
    expect(matchesRoute(path, callOf('/s/m', none, never))).toBe(true);
    expect(matchesRoute(path, callOf('/s/n', none, never))).toBe(false);
  });

  it.each([
    [0, 0, false],
    [1, 0, true],
    [1, 0.000001, false],
    [500_000, 0.4999999, true],
    [500_000, 0.5, false],
    [1_000_000, 0.9999999, true],
  ])('of a fraction of %d per million with %d drawn', (fractionPerMillion, drawn, matches) => {
    expect(
      matchesRoute(
        match({ fractionPerMillion }),
        callOf('/s/m', none, () => drawn),
      ),
    ).toBe(matches);
  });

  it('draws a random number only for a route that matches otherwise', () => {
    const fraction = match({ headers: [header('a')], fractionPerMillion: 1_000_000 });
    expect(matchesRoute(fraction, callOf('/s/m', none, never))).toBe(false);
    expect(() => matchesRoute(fraction, callOf('/s/m', metadataOf({ a: '1' }), never))).toThrow(
      'A random number was drawn',
    );
  });
});
