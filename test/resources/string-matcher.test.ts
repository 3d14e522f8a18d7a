import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { matchesString, type StringMatcher } from '../../src/resources/matching/string-matcher';
import { Violations } from '../../src/util/violations';
import { seededRandom } from '../support/seeded-random';

function expression(pattern: string): StringMatcher {
  const regex = new Re2Compiler(DEFAULT_LIMITS).forResource().compile(pattern, Violations.root());
  if (regex === undefined) throw new Error(pattern);
  return { kind: 'regex', regex };
}

const text = (
  kind: 'exact' | 'prefix' | 'suffix' | 'contains',
  value: string,
  ignoreCase = false,
): StringMatcher => ({ kind, text: value, ignoreCase });

describe('a contains matcher', () => {
  // Long enough for the search of this package in place of the engine's.
  const letters = (length: number, random: () => number) =>
    Array.from({ length }, () => (random() < 0.9 ? 'a' : 'b')).join('');

  it('finds in a long text what the search of the engine finds', () => {
    const random = seededRandom(3);
    for (let round = 0; round < 200; round++) {
      const value = letters(5000, random);
      const start = Math.floor(random() * 4900);
      const part = value.slice(start, start + 20 + Math.floor(random() * 60));
      for (const pattern of [part, `${part.slice(0, -1)}b`, letters(24, random)]) {
        expect(matchesString(text('contains', pattern), value)).toBe(value.includes(pattern));
      }
    }
  });
});

describe('a string matcher', () => {
  it.each<[StringMatcher, string, boolean]>([
    [text('exact', 'a.B'), 'a.B', true],
    [text('exact', 'a.B'), 'a.b', false],
    [text('exact', 'a.B'), 'axB', false],
    [text('exact', ''), '', true],
    [text('exact', 'ab', true), 'AB', true],
    [text('prefix', 'ab'), 'abc', true],
    [text('prefix', 'ab'), 'cab', false],
    [text('prefix', 'ab', true), 'ABc', true],
    [text('suffix', 'ab'), 'cab', true],
    [text('suffix', 'ab'), 'abc', false],
    [text('suffix', 'ab', true), 'cAB', true],
    [text('contains', 'ab'), 'cabc', true],
    [text('contains', 'ab'), 'acb', false],
    [text('contains', 'ab', true), 'cABc', true],
    [expression('a+|b'), 'aaa', true],
    [expression('a+|b'), 'ab', false],
  ])('%j on %j: %s', (matcher, value, expected) => {
    expect(matchesString(matcher, value)).toBe(expected);
  });
});
