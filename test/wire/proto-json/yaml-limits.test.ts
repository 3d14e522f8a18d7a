import { YamlDocument } from '../../../src/wire/proto-json/yaml-document';
import { workRatio } from '../../support/count-work';

function mistakesOf(text: string): string[] {
  return YamlDocument.parse(text).mistakes.map(
    ({ position: { line, column }, reason }) => `${line}:${column}: ${reason}`,
  );
}

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');

describe('a YAML text beyond a bound', () => {
  it.each([
    ['lists in brackets', '['.repeat(100_000)],
    ['lists', '- '.repeat(100_000)],
    ['objects in brackets', '{a: '.repeat(100_000)],
    ['keys', '? '.repeat(100_000)],
    ['mappings', lines(500, (index) => `${' '.repeat(index)}a:`)],
  ])('is refused when %s are nested too deep', (_, text) => {
    expect(mistakesOf(text)).toEqual([
      expect.stringMatching(/^\d+:\d+: nested more than 200 levels deep$/),
    ]);
  });

  it.each([
    ['characters', 'x'.repeat(2 * 2 ** 20 + 1), /^1:1: more than 2097152 characters of YAML; JSON/],
    ['lines', '- 1\n'.repeat(200_000), /^\d+:\d+: more than 500000 tokens of YAML; JSON may be/],
    ['keys', lines(10_001, (i) => `k${i}: 1`), /^10001:1: a mapping of more than 10000 keys$/],
  ])('is refused when it has too many %s', (_, text, reason) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(reason)]);
  });

  it('may have 190 levels', () => {
    expect(mistakesOf('['.repeat(190) + ']'.repeat(190))).toEqual([]);
  });

  it('is refused when aliases would make many values of it', () => {
    const letters = 'a b c d e f g h i'.split(' ');
    const text = letters.map((letter, index) => {
      const items = new Array(9).fill(index === 0 ? 'x' : `*${letters[index - 1] ?? ''}`);
      return `${letter}: &${letter} [${items.join()}]`;
    });
    expect(mistakesOf(text.join('\n'))).toEqual([
      '7:14: more than 2000000 values, those that aliases stand for included',
    ]);
  });

  it('is refused when few aliases stand for much', () => {
    const text = `x-a: &a\n${'- 1\n'.repeat(30_000)}b: [${'*a,'.repeat(90)}1]\n`;
    expect(mistakesOf(text)).toEqual([
      '30002:200: more than 2000000 values, those that aliases stand for included',
    ]);
  });

  it('is refused when merged mappings have too many keys together', () => {
    const mapping = (letter: string) =>
      `${letter}: &${letter} \n${lines(6000, (i) => `  ${letter}${i}: 1`)}`;
    const text = `${mapping('a')}\n${mapping('b')}\nc: {<<: [*a, *b]}`;
    expect(mistakesOf(text)).toEqual(['12003:5: a mapping of more than 10000 keys']);
  });
});

describe('the keys of a mapping', () => {
  it.each([
    ['twice', 'a: 1\nb: 2\na: 3', ['3:1: Map keys must be unique']],
    ['twice in brackets', '{a: 1, a: 2}', ['1:8: Map keys must be unique']],
    ['as text and as a number', '"1": a\n1: b', []],
  ])('must not be there %s', (_, text, expected) => {
    expect(mistakesOf(text)).toEqual(expected);
  });

  it('are compared in linear time', () => {
    const ratio = workRatio(1000, (size) => {
      const text = lines(size, (index) => `k${index}: 1`);
      return () => YamlDocument.parse(text);
    });
    expect(ratio).toBeLessThan(3);
  });
});
