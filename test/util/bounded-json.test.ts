import { JsonLimitError, parseBoundedJson, parseJsonInSteps } from '../../src/util/bounded-json';

const limits = { maxLength: 20_000_000, maxValues: 1_000_000 };
const MEBIBYTE = 2 ** 20;

/** Long enough that a list with it is put together from pieces. */
const long = 'x'.repeat(20_000);

function outcomeOf(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    return error instanceof SyntaxError ? 'SyntaxError' : String(error);
  }
}

const nested = (levels: number, inner: string) => '['.repeat(levels) + inner + ']'.repeat(levels);
const listOf = (count: number, item: string) => `[${new Array(count).fill(item).join()}]`;

describe('the same value as JSON.parse', () => {
  const longText = JSON.stringify(long);
  it.each([
    ['a number', '1'],
    ['an empty list', '[]'],
    ['white space around', ` \t\r\n{"a":[1,"b",{"c":null}]}\n`],
    ['small values in a long list', listOf(20_000, '{"a":[1,{"b":"]}"}]}')],
    ['numbers in a long list', listOf(50_000, ' 1.5e3 ')],
    ['long strings', `{"a":${longText},"b":[${longText},${longText}],"c":1}`],
    ['a long list in a list between small ones', `[1,${listOf(9000, '[]')},2,[${longText}]]`],
    ['long lists in long lists', listOf(5, listOf(3, listOf(6000, '0')))],
    ['a long list at the bottom', nested(190, listOf(20_000, '1'))],
    ['escaped quotes', `["\\"${'\\\\'.repeat(20_000)}","\\\\\\"",${longText}]`],
    ['the last of equal names', `{"a":1,"a":${longText},"b":[${longText}],"a":2}`],
    ['the last of equal names, if it is long', `{"a":1,"b":${longText},"a":[${longText}]}`],
    ['names with escape sequences', `{"\\u0061\\"":[${longText}],"b":1}`],
    ['a member __proto__', `{"a":${longText},"__proto__":{"b":1},"c":[${longText}]}`],
    ['a long member __proto__', `{"a":1,"__proto__":[${longText}]}`],
    ['names that are numbers', `{"b":${longText},"2":1,"1":[${longText}]}`],
    ['white space in long lists', `[ ${longText} , [ ${longText} ] , { "a" : [ ${longText} ] } ]`],
    ['an empty list of much space', `[${' '.repeat(20_000)}]`],
    ['an empty object of much space', `{"a":{${'\n'.repeat(20_000)}}}`],
  ])('is %s', (_, text) => {
    const expected: unknown = JSON.parse(text);
    const value = parseBoundedJson(text, limits);
    expect(value).toEqual(expected);
    expect(JSON.stringify(value)).toBe(JSON.stringify(expected));
  });
});

describe('no JSON', () => {
  const big = `[${JSON.stringify(long)}]`;
  const texts = [
    '',
    ' ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    '"a',
    '[1,]',
    '{"a":1,}',
    '[}',
    '{]',
    '[1 2]',
    '{"a"}',
    `[${big}`,
    `${big}]`,
    `[${big},]`,
    `[,${big}]`,
    `[${big},,1]`,
    `[${big} ${big}]`,
    `{${big}}`,
    `{"a" ${big}}`,
    `{"a":1 ${big}}`,
    `{"a":-${big}}`,
    `{"a":{} ${big}}`,
    `{"a":${big},}`,
    `{,"a":${big}}`,
    `{"a":${big} 1}`,
    `{"a":${big},"b"}`,
    `{1:${big}}`,
    `[x${big}]`,
    `[${big}x]`,
    `x${big}`,
    `${big}x`,
    `${big}${big}`,
    `${big},${big}`,
    `${big}{}`,
    `[${big}}`,
    `{"a":${big}]`,
    `[1:2,${big}]`,
    `[${JSON.stringify(long)},,1]`,
    `{} ${big}`,
    listOf(20_000, ''),
    `[${'1,'.repeat(20_000)}]`,
    `{${'"a":1,'.repeat(9000)}}`,
  ];

  it.each(texts.map((text) => [text.replaceAll(long, 'x…'), text]))('is %j', (_, text) => {
    expect(outcomeOf(() => JSON.parse(text) as unknown)).toBe('SyntaxError');
    expect(outcomeOf(() => parseBoundedJson(text, limits))).toBe('SyntaxError');
  });
});

describe('text beyond a bound', () => {
  const members = (count: number) =>
    `{${Array.from({ length: count }, (_, i) => `"${i}":1`).join()}}`;

  it.each([
    ['nested more than 200 levels deep', nested(201, '')],
    ['nested more than 200 levels deep', '['.repeat(2_000_000)],
    ['nested more than 200 levels deep', '{"a":'.repeat(2_000_000)],
    ['more than 1000000 values', listOf(1_000_001, '1')],
    ['more than 1000000 values', '[' + '{},'.repeat(600_000)],
    ['an object of more than 10000 members', members(10_001)],
    ['an object of more than 10000 members', `{${'"a":1,'.repeat(10_001)}`],
    [`a string of more than ${MEBIBYTE} characters`, `["${'x'.repeat(MEBIBYTE + 1)}"]`],
    [`a string of more than ${MEBIBYTE} characters`, `"${'\\"'.repeat(MEBIBYTE)}`],
    [`a string of more than ${MEBIBYTE} characters`, `{"${'x'.repeat(2 * MEBIBYTE)}`],
    [`more than ${MEBIBYTE} characters in one number or space`, ' '.repeat(2 * MEBIBYTE)],
    [`more than ${MEBIBYTE} characters in one number or space`, `[${'1'.repeat(2 * MEBIBYTE)}`],
    ['more than 20000000 characters', ' '.repeat(20_000_001)],
  ])('is refused: %s', (reason, text) => {
    expect(() => parseBoundedJson(text, limits)).toThrow(new JsonLimitError(reason));
  });

  it.each([
    ['levels', nested(200, '')],
    ['values', listOf(999_999, '1')],
    ['members', members(10_000)],
    ['characters of a string', `["${'x'.repeat(MEBIBYTE)}"]`],
  ])('does not count the last %s', (_, text) => {
    expect(outcomeOf(() => parseBoundedJson(text, limits))).toHaveProperty('value');
  });

  it('is not read to its end', () => {
    const text = '['.repeat(2_000_000);
    const steps = parseJsonInSteps(text, limits);
    expect(() => steps.next()).toThrow('nested more than 200 levels deep');
  });
});

it('parses a long text in steps', () => {
  const text = listOf(100_000, '{"a":[1,2]}');
  const steps = parseJsonInSteps(text, limits);
  let count = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count++;
  expect(count).toBeGreaterThan(text.length / 20_000);
  expect(step.value).toEqual(JSON.parse(text));
});
