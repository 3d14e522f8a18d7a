import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/regex/re2-compiler';
import { matchesString, type StringMatcher } from '../../src/resources/shared/string-matcher';
import { Violations } from '../../src/util/violations';

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
