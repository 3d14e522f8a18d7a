import { parse, parseDocument } from 'yaml';
import { YamlDocument } from '../../../src/wire/proto-json/yaml-document';

const repeat = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index)).join('');

const entry = (i: number) => `# about ${i}
- name: n${i} # a name
  <<: *defaults
  list:
  - ${i}
  -  b: 2
     c: 'x'
  flow: {a: [1, 2, {b: c}], d: "e"}
  "text": |
    ab
    cd
`;

/** A text with everything that YAML has. */
const large = `x-a: &defaults {q: 1, "r": [1, 2, {z: ~}], name: none}
deep:
  ? &key deeper
  : &list
${repeat(100, (i) => `    - {a: ${i}, "b": [x, y: z]}\n`)}
same: *list
resources: &all
${repeat(60, entry)}
empty:
flow: {
${repeat(100, (i) => `  k${i}: [${i}, *key],\n`)}
}
json: [${repeat(100, (i) => `{"a": {"b": ${i}}},`)} 1, y: {${repeat(100, (i) => `a${i}: ,`)}}]
`;

describe('a large YAML text', () => {
  it('has the values that it has in the parser of the library', () => {
    const { mistakes, value } = YamlDocument.parse(large);
    expect(mistakes).toEqual([]);
    expect(value).toEqual(parse(large, { merge: true, maxAliasCount: -1 }));
  });

  it('has the place of each value', () => {
    const lines = large.split('\n');
    const document = YamlDocument.parse(large);
    const { line, column } = document.locate(['resources', 50, 'flow', 'd']);
    expect(lines[line - 1]?.slice(column - 1)).toBe('d: "e"}');
    expect(lines[line - 7]).toContain('name: n50');
    const inAlias = document.locate(['same', 7, 'b']);
    expect(lines[inAlias.line - 1]).toBe('    - {a: 7, "b": [x, y: z]}');
  });

  it.each([
    ['{a: 50, ', '{a: 50 b, '],
    ['- name: n50', ' - name: n50'],
    ['     c: ', '    c: '],
    ['{a: 7, ', '{a: 7} '],
    ['[50, *key]', '[50 *key]'],
    ['"b": [x, y: z]', '"b": [x, y: z'],
    ['{"b": 50}', '{"b": 50'],
  ])('has a mistake where the library finds it, with %j for %j', (before, after) => {
    const text = large.replace(before, after);
    const [expected] = parseDocument(text, { merge: true, prettyErrors: true })
      .errors.map(({ linePos }) => linePos?.[0].line ?? 0)
      .sort((a, b) => a - b);
    const [mistake] = YamlDocument.parse(text).mistakes;
    expect(mistake?.position.line).toBe(expected);
  });

  it('lists its first 100 mistakes, in their order', () => {
    const { mistakes } = YamlDocument.parse(repeat(5000, () => '- {a: 1, a: 2}\n'));
    expect(mistakes).toHaveLength(100);
    expect(mistakes.map(({ position }) => position.line)).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
  });

  it('is refused when an alias is in its own value', () => {
    expect(YamlDocument.parse('a: &a [1, *a]').mistakes).toEqual([
      {
        position: { line: 1, column: 11 },
        reason: 'Unresolved alias (it is in its own value): a',
      },
    ]);
  });
});
