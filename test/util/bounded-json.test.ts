import { JsonLimitError, parseBoundedJson } from '../../src/util/bounded-json';

const limits = { maxLength: 20_000_000, maxValues: 1_000_000 };

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const listOf = (count: number, item: string) => `[${new Array(count).fill(item).join()}]`;
const members = (count: number) =>
  `{${Array.from({ length: count }, (_, i) => `"${i}":1`).join()}}`;

describe('bounded JSON', () => {
  it.each([
    ['a number', '1'],
    ['white space around', ` \t\r\n{"a":[1,"b",{"c":null}]}\n`],
    ['escaped quotes', `["\\"${'\\\\'.repeat(20_000)}","\\\\\\"",1]`],
    ['the last of equal names', '{"a":1,"a":[2],"b":3}'],
    ['a member __proto__', '{"a":1,"__proto__":{"b":1}}'],
    ['as many levels as allowed', nested(200)],
    ['as many values as allowed', listOf(1_000_000, '1')],
    ['as many members as allowed', members(10_000)],
    ['as many members in each object', `[${members(10_000)},{"a":${members(9999)},"b":1}]`],
    ['more elements than members', `{"a":${listOf(20_000, '{"b":1}')},"c":1}`],
    ['brackets and commas in strings', JSON.stringify(['[{,\\"'.repeat(1_000_000)])],
  ])('is what JSON.parse returns: %s', (_, text) => {
    expect(JSON.stringify(parseBoundedJson(text, limits))).toBe(JSON.stringify(JSON.parse(text)));
  });

  it.each(['', '[', ']', ',', '"', '"a', '"\\"', '[1,]', '[}', '{]', '[1 2]', '{"a"}', '1,2'])(
    'is refused as JSON.parse does: %j',
    (text) => {
      expect(() => parseBoundedJson(text, limits)).toThrow(SyntaxError);
    },
  );

  it.each([
    ['nested more than 200 levels deep', nested(201)],
    ['nested more than 200 levels deep', '['.repeat(2_000_000)],
    ['nested more than 200 levels deep', '{"a":'.repeat(2_000_000)],
    ['more than 1000000 values', listOf(1_000_001, '1')],
    ['more than 1000000 values', '[' + '{},'.repeat(600_000)],
    ['an object of more than 10000 members', members(10_001)],
    ['an object of more than 10000 members', `{${'"a":1,'.repeat(10_001)}`],
    ['an object of more than 10000 members', `{"a":[{}],${'"a":[{}],'.repeat(10_001)}`],
    ['more than 20000000 characters', ' '.repeat(20_000_001)],
  ])('is refused before it is parsed: %s', (reason, text) => {
    expect(() => parseBoundedJson(text, limits)).toThrow(new JsonLimitError(reason));
  });
});
