import { Metadata } from '../../src/grpc-js';
import { MatchedCall } from '../../src/routing/matched-call';
import type { PathMatcher } from '../../src/resources/route-config/route-config';
import { PathIndex } from '../../src/routing/path-index';
import { matchesPath } from '../../src/routing/route-matcher';
import { seededRandom } from '../support/seeded-random';

const path = (text: string, caseSensitive = true): PathMatcher => ({
  kind: 'path',
  text,
  caseSensitive,
});
const prefix = (text: string, caseSensitive = true): PathMatcher => ({
  kind: 'prefix',
  text,
  caseSensitive,
});
const regex = (pattern: RegExp): PathMatcher => ({
  kind: 'regex',
  regex: {
    pattern: pattern.source,
    size: pattern.source.length,
    matches: (text) => pattern.test(text),
    replaceAll: (text) => text,
  },
});

function indexOf(matchers: readonly PathMatcher[]): PathIndex {
  const index = new PathIndex();
  matchers.forEach((matcher, position) => index.add(matcher, position));
  return index;
}

const callTo = (path: string) => MatchedCall.of(path, new Metadata(), () => 0);

function find(matchers: readonly PathMatcher[], text: string): number | undefined {
  const index = indexOf(matchers);
  const matches = (position: number) => {
    const matcher = matchers[position];
    return matcher !== undefined && matchesPath(matcher, callTo(text));
  };
  return index.findFirst(text, matches, undefined);
}

describe('PathIndex', () => {
  it('finds an exact path, a prefix, the empty prefix and a regular expression', () => {
    const matchers = [path('/a.B/C'), prefix('/a.B/'), regex(/^\/r.*$/), prefix('')];
    expect(find(matchers, '/a.B/C')).toBe(0);
    expect(find(matchers, '/a.B/D')).toBe(1);
    expect(find(matchers, '/r/x')).toBe(2);
    expect(find(matchers, '/other')).toBe(3);
  });

  it('keeps the order of routes of different kinds', () => {
    expect(find([prefix('/a'), path('/a/b')], '/a/b')).toBe(0);
    expect(find([regex(/^\/a.*$/), path('/a/b')], '/a/b')).toBe(0);
    expect(find([path('/x/y'), prefix('/a/b'), prefix('/a')], '/a/b/c')).toBe(1);
  });

  it('continues with the next candidate when one is not accepted', () => {
    const index = indexOf([path('/a/b'), prefix('/a'), path('/a/b')]);
    const asked: number[] = [];
    const isThird = (position: number) => asked.push(position) > 0 && position === 2;
    const found = index.findFirst('/a/b', isThird, undefined);
    expect(found).toBe(2);
    expect(asked).toEqual([0, 1, 2]);
  });

  it('tries each candidate once, exact paths before all others too', () => {
    const tried = (matchers: readonly PathMatcher[]) => {
      const asked: number[] = [];
      const accepts = (position: number) => asked.push(position) < 0;
      indexOf(matchers).findFirst('/a.B/C', accepts, undefined);
      return asked;
    };
    expect(tried([path('/a.B/C'), path('/x'), path('/a.B/C')])).toEqual([0, 2]);
    expect(tried([path('/a.B/C'), path('/a.B/C'), prefix('/a'), prefix('')])).toEqual([0, 1, 2, 3]);
    expect(tried([prefix('/a.B/'), prefix('/a.B/'), regex(/C$/)])).toEqual([0, 1, 2]);
    expect(tried([prefix('/a.B/'), path('/a.B/C'), prefix('/a.B/')])).toEqual([0, 1, 2]);
    expect(tried([path('/a.B/C'), prefix('/a'), prefix('/a.B/')])).toEqual([0, 1, 2]);
    expect(tried([prefix(''), path('/a.B/C')])).toEqual([0, 1]);
    expect(tried([path('/x'), prefix('/y')])).toEqual([]);
  });

  it('ignores case only for case-insensitive routes', () => {
    expect(find([path('/a/b', false)], '/A/B')).toBe(0);
    expect(find([prefix('/a', false)], '/A/B')).toBe(0);
    expect(find([path('/a/b'), prefix('/a')], '/A/B')).toBeUndefined();
  });

  it('does not try routes that cannot match', () => {
    const matchers = Array.from({ length: 1000 }, (_, i) => path(`/s${i}/m`));
    const asked: number[] = [];
    const accepts = (position: number) => asked.push(position) < 0;
    expect(indexOf(matchers).findFirst('/s500/m', accepts, undefined)).toBeUndefined();
    expect(asked).toEqual([500]);
  });

  it('agrees with trying one route after the other on random tables', () => {
    const random = seededRandom(7);
    const pick = <T>(values: readonly T[]): T => {
      const value = values[Math.floor(random() * values.length)];
      if (value === undefined) throw new Error('nothing to pick from');
      return value;
    };
    const word = () =>
      Array.from({ length: 1 + random() * 4 }, () => pick(['a', 'B', '/'])).join('');
    for (let round = 0; round < 2000; round++) {
      const matchers = Array.from({ length: random() * 12 }, () => {
        const caseSensitive = random() < 0.7;
        const text = caseSensitive ? `/${word()}` : `/${word()}`.toLowerCase();
        if (random() < 0.1) return regex(new RegExp(`^/${pick(['a', 'b'])}.*$`, 'i'));
        return random() < 0.5 ? path(text, caseSensitive) : prefix(text, caseSensitive);
      });
      const call = `/${word()}`;
      const linear = matchers.findIndex((matcher) => matchesPath(matcher, callTo(call)));
      expect(find(matchers, call)).toBe(linear < 0 ? undefined : linear);
    }
  });
});
