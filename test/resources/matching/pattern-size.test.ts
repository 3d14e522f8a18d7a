import { RE2JS } from 're2js';
import { estimatePatternSize } from '../../../src/util/pattern-size';

/** What the engine makes of a pattern: instructions, and ranges of characters where there are several. */
function compiledSize(pattern: string): number {
  const { prog } = RE2JS.compile(pattern).re2();
  let size = 0;
  for (let i = 0; i < prog.numInst(); i++) {
    const runes: unknown = prog.getInst(i).runes;
    const { length } = runes instanceof Int32Array || Array.isArray(runes) ? runes : [];
    size += 1 + (length > 2 ? length / 2 : 0);
  }
  return size;
}

describe('the size of a pattern', () => {
  it.each([
    '',
    'a',
    'abc',
    '.*a.*b',
    'a|',
    '|||',
    '(|a){3}',
    '(?:)',
    '^a$',
    '(?m)^a$',
    '(?s).',
    'x{1000}',
    '(x{0,30}){30}',
    'a{,5}',
    'a{3,}',
    'a{0}b',
    '(a|b|c|dd){20}',
    '((a?)*)*',
    '[^x]',
    '[]a]{7}',
    '[^]a]{7}',
    '[[:alpha:]_]',
    '[[:^alpha:]]',
    '[\\d\\w\\S]',
    '[[a]',
    '(?i)[a-z]',
    '(?i)k{200}',
    '(?i)straße\\d',
    '(?i)\\pL',
    '(?i)[\\p{Lu}]',
    '(?i:a)b',
    '\\pL',
    '[\\pL\\PN]',
    '\\PC',
    '\\pC',
    '\\pM',
    '\\p{Greek}{3}',
    '\\p{Any}',
    '\\p{^Lu}',
    '(?:\\pL{0,100}|[^x])y1',
    '[\\p{L}\\p{N}_-]+',
    '\\pL{20}',
    '(?P<name>a)+',
    '\\b.{50}',
    '\\Q(*{5}\\E{3}',
    '\\Qa)\\E',
    '\\x{1F600}{4}',
    '\\x41{9}',
    '\\w+\\W+\\D\\S',
    'a\\.b{7}',
  ])('of %j is not less than what the engine makes of it', (pattern) => {
    expect(estimatePatternSize(pattern)).toBeGreaterThanOrEqual(compiledSize(pattern));
  });

  it.each([
    ['/pkg[.]Service/(Get|List)[A-Za-z]+', 51],
    ['.*', 21],
    ['(?:\\pL{0,1000}|[^x])yN', 752_027],
    ['((x{1,100}){1,100}){1,100}', 1_000_000_000],
  ])('of %j is at most %i', (pattern, size) => {
    expect(estimatePatternSize(pattern)).toBeLessThanOrEqual(size);
  });

  it.each(['(', ')', '[', '[^', '\\', '\\p', '\\p{', '\\x{', 'a{', '[[:', '[[:a', '\\Q', '\\Q\\'])(
    'is a number for the malformed pattern %j too',
    (pattern) => {
      expect(estimatePatternSize(pattern)).toBeGreaterThanOrEqual(16);
    },
  );
});

describe('the size of a class that ignores the case', () => {
  const wide = '\\x{101}-\\x{10FFFE}';

  it('counts the characters of its ranges, each of which the engine looks at', () => {
    const once = estimatePatternSize(`(?i)[${wide}]`);
    expect(once).toBeGreaterThan(7000);
    expect(estimatePatternSize(`(?i)[${wide}${wide}]`)).toBeGreaterThan(2 * once - 100);
    expect(estimatePatternSize(`(?i)[^${wide}]`)).toBeGreaterThan(7000);
    expect(estimatePatternSize(`a(?s-i:b)(?m)(?:(?i)[${wide}])`)).toBeGreaterThan(7000);
    expect(estimatePatternSize('(?i)[ā-\u{10fffe}]')).toBeGreaterThan(7000);
  });

  it.each(['(?i)[a-z0-9]', '(?i)[а-я][α-ω]', '(?i)[\\x41-\\x5A]', `[${wide}]`, '(?i)[-a][a-]'])(
    'of few characters is small: %s',
    (pattern) => {
      expect(estimatePatternSize(pattern)).toBeLessThan(60);
    },
  );

  it('is refused for patterns that take the engine seconds', () => {
    const ranges = Array.from(
      { length: 20 },
      (_, i) => `\\x{${(0x101 + i).toString(16)}}-\\x{10FFFE}`,
    );
    expect(estimatePatternSize(`(?i)[${ranges.join('')}]`)).toBeGreaterThan(100_000);
  });
});
