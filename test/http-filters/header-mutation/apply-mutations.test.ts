import { Metadata } from '../../../src/grpc-js';
import {
  applyMutations,
  matchNames,
  namesOf,
  NO_RULES,
  type HeaderMutationRules,
} from '../../../src/http-filters/header-mutation/apply-mutations';
import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import type { CompiledRegex } from '../../../src/resources/extension-points';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import type { HeaderMutation } from '../../../src/resources/shared/header-mutation';
import { parseAnsweredMutations } from '../../../src/resources/shared/header-mutation-parser';
import { Violations } from '../../../src/util/violations';
import { HeaderValueOption } from '../../../src/wire/generated/envoy/config/core/v3/base';
import { callWith, failureOf, headersOf } from '../calls';

function regex(pattern: string): CompiledRegex {
  const compiled = new Re2Compiler(DEFAULT_LIMITS)
    .forResource()
    .compile(pattern, Violations.root());
  if (compiled === undefined) throw new Error(pattern);
  return compiled;
}

const add = (name: string, value: string | Buffer, action = 'append'): HeaderMutation =>
  ({ kind: 'add', name, value, action }) as HeaderMutation;

function apply(
  headers: Metadata,
  mutations: readonly HeaderMutation[],
  rules: Partial<HeaderMutationRules> = {},
): Record<string, unknown> {
  applyMutations(headers, mutations, callWith(headers), { ...NO_RULES, ...rules });
  return Object.fromEntries(Object.keys(headers.getMap()).map((name) => [name, headers.get(name)]));
}

describe('changes of headers', () => {
  it.each([
    ['append', 'a', ['old', 'new']],
    ['append', 'b', ['new']],
    ['add-if-absent', 'a', ['old']],
    ['add-if-absent', 'b', ['new']],
    ['overwrite-or-add', 'a', ['new']],
    ['overwrite-or-add', 'b', ['new']],
    ['overwrite', 'a', ['new']],
    ['overwrite', 'b', []],
  ])('%s of a header %s', (action, name, expected) => {
    const headers = headersOf({ a: 'old' });
    apply(headers, [add(name, 'new', action)]);
    expect(headers.get(name)).toEqual(expected);
  });

  it('are made in order, and remove headers by name and by matcher', () => {
    const headers = headersOf({ a: '1', 'x-one': '1', 'x-two': '2' });
    const names = { kind: 'prefix', text: 'x-', ignoreCase: false } as const;
    expect(
      apply(headers, [
        { kind: 'remove', name: 'a' },
        add('a', '2'),
        { kind: 'remove-matching', names },
        add('x-three', '3'),
      ]),
    ).toEqual({ a: ['2'], 'x-three': ['3'] });
  });

  it.each([
    'host',
    ':authority',
    'te',
    'content-type',
    'grpc-timeout',
    'X-Upper',
    'x'.repeat(16_385),
  ])('never change %s', (name) => {
    const headers = headersOf({ host: 'h' });
    expect(apply(headers, [add(name, 'v'), { kind: 'remove', name }])).toEqual({ host: ['h'] });
  });

  it('do not add values of more than 16384 characters', () => {
    expect(apply(headersOf(), [add('a', 'v'.repeat(16_385))])).toEqual({});
  });

  it.each<[rules: Partial<HeaderMutationRules>, allowed: readonly string[]]>([
    [{}, ['a', 'b']],
    [{ disallowAll: true }, []],
    [{ disallowAll: true, allow: regex('a') }, ['a']],
    [{ allow: regex('a') }, ['a', 'b']],
    [{ disallow: regex('a') }, ['b']],
    [{ disallow: regex('a'), allow: regex('[ab]'), disallowAll: true }, ['b']],
  ])('follow the rules %j', (rules, allowed) => {
    expect(Object.keys(apply(headersOf(), [add('a', '1'), add('b', '1')], rules))).toEqual(allowed);
    const headers = headersOf({ a: '1', b: '1' });
    apply(
      headers,
      ['a', 'b'].map((name) => ({ kind: 'remove', name })),
      rules,
    );
    expect(Object.keys(headers.getMap())).toEqual(['a', 'b'].filter((n) => !allowed.includes(n)));
  });

  it.each(['a', 'host'])('fail the call for %s where a refusal is an error', async (name) => {
    const rules = { disallow: regex('a'), disallowIsError: true };
    expect(await failureOf(() => apply(headersOf(), [add(name, '1')], rules))).toBe(
      `13: header "${name}" cannot be changed: the rules for header mutations forbid it`,
    );
  });

  it('spend steps of the call on names', () => {
    const spent: number[] = [];
    const meter = { spendText: (steps: number) => spent.push(steps) < 2 };
    const call = {
      ...callWith(),
      routing: { match: (run: (m: unknown) => unknown) => run(meter) },
    };
    const matcher = { kind: 'contains', text: 'a', ignoreCase: false } as const;
    const matches = matchNames(call as never, (match) => [
      match(matcher, 'aaaa'),
      match(matcher, 'a'),
    ]);
    expect(matches).toEqual([true, false]);
    expect(spent).toEqual([20, 17]);
  });
});

describe('headers that a service answers', () => {
  const parse = (...options: readonly Parameters<typeof HeaderValueOption.create>[0][]) => {
    const violations = Violations.root();
    const parsed = parseAnsweredMutations(
      options.map((option) => HeaderValueOption.create(option)),
      [],
      violations,
    );
    return violations.count > 0 ? violations.all : parsed;
  };
  const added = (value: unknown, action = 'append', name = 'a') => [
    { kind: 'add', name, value, action },
  ];

  it.each([
    ['a value', { header: { key: 'a', value: 'v' } }, added('v')],
    ['a raw value', { header: { key: 'a', rawValue: Buffer.from('v') } }, added('v')],
    ['an empty value', { header: { key: 'a' } }, added('')],
    ['an action', { header: { key: 'a' }, appendAction: 3 as const }, added('', 'overwrite')],
    ['append: true', { header: { key: 'a' }, append: true }, added('')],
    ['append: false', { header: { key: 'a' }, append: false }, added('', 'overwrite-or-add')],
    [
      'a binary value in base64',
      { header: { key: 'a-bin', value: 'AAEC' } },
      added(Buffer.from([0, 1, 2]), 'append', 'a-bin'),
    ],
    [
      'a raw binary value in base64',
      { header: { key: 'a-bin', rawValue: Buffer.from('AAEC') } },
      added(Buffer.from([0, 1, 2]), 'append', 'a-bin'),
    ],
    [
      'the bytes of a binary value',
      { header: { key: 'a-bin', rawValue: Buffer.from([0, 255]) } },
      added(Buffer.from([0, 255]), 'append', 'a-bin'),
    ],
    ['no header', {}, ['[0].header: field not present']],
    ['no name', { header: { value: 'v' } }, ['[0].header.key: must not be empty']],
    [
      'a name with a space',
      { header: { key: 'a b' } },
      ['[0].header.key: must be a header name, not "a b"'],
    ],
    [
      'a value with a line break',
      { header: { key: 'a', value: 'v\n' } },
      ['[0].header.value: must be printable ASCII'],
    ],
    [
      'a binary value that is not base64',
      { header: { key: 'a-bin', value: '***' } },
      ['[0].header.value: must be base64, since the name of the header ends in -bin'],
    ],
    [
      'an unknown action',
      { header: { key: 'a' }, appendAction: 9 as never },
      ['[0].append_action: unknown value 9'],
    ],
  ])('may have %s', (_case, option, expected) => {
    expect(parse(option)).toEqual(expected);
  });

  it('count as invalid with more than 1000 in one list', () => {
    const many = Array.from({ length: 1001 }, () => ({ header: { key: 'a' } }));
    expect(parse(...many)).toEqual([
      ': must not have more than 1000 entries, but has 1001'.slice(2),
    ]);
    expect(parse(...many.slice(1))).toHaveLength(1000);
  });
});

it('names every header, also the one that an object lacks', () => {
  const headers = new Metadata();
  headers.set('a', '1');
  expect(namesOf(headers)).toEqual(['a']);
  headers.set('__proto__', 'x');
  expect(namesOf(headers)).toEqual(['a', '__proto__']);
});
