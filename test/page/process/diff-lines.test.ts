import { diffLines } from '../../../packages/page/src/process/diff-lines';
import { seededRandom } from '../../support/seeded-random';

const show = (before: string, after: string) =>
  diffLines(before.split(''), after.split('')).map(({ sign, text }) => `${sign}${text}`.trim());

/** The length of the longest common subsequence, by the definition. */
function commonLength(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, () => 0);
  for (const line of a) {
    const next = [0];
    b.forEach((other, j) => {
      next.push(line === other ? (row[j] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0));
    });
    row = next;
  }
  return row[b.length] ?? 0;
}

describe('diffLines', () => {
  it.each([
    ['', '', []],
    ['ab', 'ab', ['a', 'b']],
    ['', 'ab', ['+a', '+b']],
    ['ab', '', ['-a', '-b']],
    ['abc', 'axc', ['a', '-b', '+x', 'c']],
    ['abcd', 'abxcd', ['a', 'b', '+x', 'c', 'd']],
    ['aab', 'ab', ['a', '-a', 'b']],
  ])('compares %j with %j', (before, after, expected) => {
    expect(show(before, after)).toEqual(expected);
  });

  it('has both texts, and as few changes as possible', () => {
    const random = seededRandom(7);
    const text = () =>
      Array.from(
        { length: Math.floor(random() * 40) },
        () => 'abcd'[Math.floor(random() * 4)] ?? 'a',
      );
    for (let i = 0; i < 500; i++) {
      const [before, after] = [text(), text()];
      const lines = diffLines(before, after);
      const of = (...signs: string[]) =>
        lines.filter(({ sign }) => signs.includes(sign)).map((line) => line.text);
      expect(of(' ', '-')).toEqual(before);
      expect(of(' ', '+')).toEqual(after);
      expect(of(' ')).toHaveLength(commonLength(before, after));
    }
  });

  it('replaces what differs as a whole if that is more than 400 lines', () => {
    const lines = (prefix: string) => Array.from({ length: 20_000 }, (_, i) => `${prefix}${i}`);
    const compared = diffLines(['x', ...lines('a'), 'y'], ['x', ...lines('b'), 'y']);
    expect(compared).toHaveLength(40_002);
    expect(compared.map(({ sign }) => sign).join('')).toMatch(/^ -{20000}\+{20000} $/);
  });
});
