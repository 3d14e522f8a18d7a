import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { silentLogger } from '../../src/util/logger';
import { Matcher as MatcherMessage } from '../../src/wire/generated/xds/type/matcher/v3/matcher';
import {
  describeMatcher,
  findAction,
  ReadableHeaders,
  type Matcher,
} from '../../src/routing/matcher';
import { parseMatcher } from '../../src/routing/matcher-parser';
import { typeNameOf } from '../../src/resources/shared/any';
import { Violations } from '../../src/util/violations';
import { encodeMessage } from '../resources/decode-json';
import type { Json } from '../support/xds-json';
import { headersOf } from '../http-filters/calls';
import {
  action,
  equals,
  headerInput,
  list,
  single,
  skip,
  tree,
} from '../http-filters/composite/matcher-json';

interface NamedAction {
  readonly name: string;
}

const unknownAction = action(skip);
/** An action that is known by its name. */
const go = (name: string): Json => ({
  action: {
    name,
    typed_config: { '@type': 'type.googleapis.com/google.protobuf.Struct', value: {} },
  },
});

function parse(json: Json) {
  const violations = Violations.root();
  const message = MatcherMessage.decode(encodeMessage('xds.type.matcher.v3.Matcher', json));
  const matcher = parseMatcher<NamedAction>(
    message,
    ({ name, typedConfig }, at) => {
      if (typeNameOf(typedConfig?.typeUrl ?? '') === 'google.protobuf.Struct') return { name };
      at.add('no such action');
      return undefined;
    },
    violations,
  );
  return { matcher, violations: violations.all };
}

function mustParse(json: Json): Matcher<NamedAction> {
  const { matcher, violations } = parse(json);
  if (matcher === undefined) throw new Error(violations.join('\n'));
  return matcher;
}

/** The name of the action for a call of `/test.Echo/Say` with these headers. */
function find(json: Json, headers: Record<string, string | readonly string[]> = {}) {
  return findAction(mustParse(json), new ReadableHeaders('/test.Echo/Say', headersOf(headers)))
    ?.name;
}

const exactMap = (name: string, map: Json, extra: Json = {}): Json => ({
  matcher_tree: { input: headerInput(name), exact_match_map: { map } },
  ...extra,
});
const prefixMap = (name: string, map: Json, extra: Json = {}): Json => ({
  matcher_tree: { input: headerInput(name), prefix_match_map: { map } },
  ...extra,
});

describe('a list of conditions', () => {
  const twoOfThem = list([equals('x', '1'), go('one')], [equals('y', '1'), go('two')]);

  it.each<[Record<string, string>, string | undefined]>([
    [{ x: '1' }, 'one'],
    [{ x: '1', y: '1' }, 'one'],
    [{ y: '1' }, 'two'],
    [{ x: '2' }, undefined],
    [{}, undefined],
  ])('leads headers %j to %s', (headers, expected) => {
    expect(find(twoOfThem, headers)).toBe(expected);
  });

  it('leads to `on_no_match` if no condition matches', () => {
    expect(find({ ...twoOfThem, on_no_match: go('other') })).toBe('other');
  });

  it('continues if the tree of a condition finds no action', () => {
    const inner = list([equals('z', '1'), go('inner')]);
    const outer = list([equals('x', '1'), tree(inner)], [equals('x', '1'), go('next')]);
    expect(find(outer, { x: '1', z: '1' })).toBe('inner');
    expect(find(outer, { x: '1' })).toBe('next');
    const withDefault = tree({ ...inner, on_no_match: go('default') });
    expect(
      find(list([equals('x', '1'), withDefault], [equals('x', '1'), go('next')]), { x: '1' }),
    ).toBe('default');
  });

  const x1 = equals('x', '1');
  const y1 = equals('y', '1');
  it.each<[string, Json, readonly Record<string, string>[], readonly Record<string, string>[]]>([
    ['or', { or_matcher: { predicate: [x1, y1] } }, [{ x: '1' }, { y: '1' }], [{}, { x: '2' }]],
    ['and', { and_matcher: { predicate: [x1, y1] } }, [{ x: '1', y: '1' }], [{ x: '1' }, {}]],
    ['not', { not_matcher: x1 }, [{}, { x: '2' }], [{ x: '1' }]],
    ['prefix', single('x', { prefix: 'ab' }), [{ x: 'abc' }], [{ x: 'a' }, { x: 'AB' }]],
    ['suffix', single('x', { suffix: 'bc' }), [{ x: 'abc' }], [{ x: 'c' }]],
    ['contains', single('x', { contains: 'b' }), [{ x: 'abc' }], [{ x: 'ac' }]],
    [
      'any case',
      single('X', { exact: 'aB', ignore_case: true }),
      [{ x: 'Ab' }, { X: 'ab' }],
      [{ x: 'a' }],
    ],
    ['an empty value', single('x', { exact: '' }), [{ x: '' }], [{}]],
    ['the path', single(':path', { prefix: '/test.Echo/' }), [{}], []],
    ['the HTTP method', equals(':method', 'POST'), [{}], []],
    ['the content type', equals('content-type', 'application/grpc'), [{}], []],
  ])('knows the condition: %s', (_case, predicate, fitting, others) => {
    const sut = list([predicate, go('yes')]);
    for (const headers of fitting) expect([headers, find(sut, headers)]).toEqual([headers, 'yes']);
    for (const headers of others)
      expect([headers, find(sut, headers)]).toEqual([headers, undefined]);
  });

  it('joins repeated headers and ignores binary ones', () => {
    expect(find(list([equals('x', 'a,b'), go('yes')]), { x: ['a', 'b'] })).toBe('yes');
    const headers = headersOf();
    headers.set('x-bin', Buffer.from('a'));
    const matcher = mustParse(list([equals('x-bin', 'a'), go('yes')]));
    expect(findAction(matcher, new ReadableHeaders('/a/b', headers))).toBeUndefined();
  });
});

describe('a map of values', () => {
  it.each<[Record<string, string>, string | undefined]>([
    [{ x: 'a' }, 'one'],
    [{ x: '__proto__' }, 'two'],
    [{ x: 'constructor' }, undefined],
    [{ x: '' }, undefined],
    [{}, undefined],
  ])('leads headers %j to %s', (headers, expected) => {
    const map = { a: go('one'), ['__proto__']: go('two') };
    expect(find(exactMap('x', map), headers)).toBe(expected);
  });

  it('leads to `on_no_match` without an entry, and if the tree of the entry finds no action', () => {
    const map = { a: tree(list([equals('y', '1'), go('inner')])) };
    const sut = exactMap('x', map, { on_no_match: go('other') });
    expect(find(sut, { x: 'a', y: '1' })).toBe('inner');
    expect([find(sut, { x: 'a' }), find(sut, { x: 'b' }), find(sut)]).toEqual([
      'other',
      'other',
      'other',
    ]);
  });
});

describe('a map of prefixes', () => {
  const map = {
    '': go('any'),
    '/a': go('a'),
    '/ab': tree(list([equals('y', '1'), go('ab')])),
    '/abcd': go('abcd'),
  };

  it.each<[Record<string, string>, string | undefined]>([
    [{ x: '/abcde' }, 'abcd'],
    [{ x: '/abcd' }, 'abcd'],
    [{ x: '/abc', y: '1' }, 'ab'],
    [{ x: '/abc' }, 'a'],
    [{ x: '/b' }, 'any'],
    [{ x: '' }, 'any'],
    [{}, undefined],
  ])('leads headers %j to the longest that leads anywhere: %s', (headers, expected) => {
    expect(find(prefixMap('x', map), headers)).toBe(expected);
  });
});

describe('a tree', () => {
  /** Trees inside one another, the innermost of which has an action. */
  const nestedTrees = (depth: number): Json =>
    depth === 1
      ? list([equals('x', '1'), go('deep')])
      : list([equals('x', '1'), tree(nestedTrees(depth - 1))]);

  it('may have 16 levels', () => {
    expect(find(nestedTrees(16), { x: '1' })).toBe('deep');
    expect(parse(nestedTrees(17)).violations).toEqual([
      `${'matcher_list.matchers[0].on_match.matcher.'.repeat(16).slice(0, -1)}: ` +
        'must not be inside more than 15 others',
    ]);
  });

  it.each<[string, Json, readonly string[]]>([
    ['nothing', {}, ['must have matcher_list or matcher_tree']],
    ['an empty list', list(), ['matcher_list.matchers: must not be empty']],
    [
      'an entry without anything',
      { matcher_list: { matchers: [{}] } },
      [
        'matcher_list.matchers[0].predicate: must have single_predicate, or_matcher, and_matcher or not_matcher',
        'matcher_list.matchers[0].on_match: field not present',
      ],
    ],
    [
      'every mistake at once',
      {
        ...list(
          [equals('x', '1'), { ...go('a'), keep_matching: true }],
          [{ or_matcher: { predicate: [equals('', '1')] } }, {}],
          [{ not_matcher: {} }, unknownAction],
        ),
        on_no_match: { matcher: {} },
      },
      [
        'matcher_list.matchers[0].on_match.keep_matching: must not be set',
        'matcher_list.matchers[1].predicate.or_matcher.predicate: must have at least two members',
        'matcher_list.matchers[1].predicate.or_matcher.predicate[0].single_predicate.input.typed_config.header_name: must be the name of a header',
        'matcher_list.matchers[1].on_match: must have matcher or action',
        'matcher_list.matchers[2].predicate.not_matcher: must have single_predicate, or_matcher, and_matcher or not_matcher',
        'matcher_list.matchers[2].on_match.action: no such action',
        'on_no_match.matcher: must have matcher_list or matcher_tree',
      ],
    ],
    [
      'keep_matching in a tree inside',
      exactMap('x', { a: tree(list([equals('y', '1'), { ...go('a'), keep_matching: true }])) }),
      [
        'matcher_tree.exact_match_map.map["a"].matcher.matcher_list.matchers[0].on_match.keep_matching: must not be set',
      ],
    ],
    [
      'a regular expression',
      list([single('x', { safe_regex: { regex: 'a' } }), go('a')]),
      [
        'matcher_list.matchers[0].predicate.single_predicate.value_match.safe_regex: unsupported here',
      ],
    ],
    [
      'an empty prefix',
      list([single('x', { prefix: '' }), go('a')]),
      ['matcher_list.matchers[0].predicate.single_predicate.value_match.prefix: must not be empty'],
    ],
    [
      'a comparison with nothing',
      list(
        [single('x', {}), go('a')],
        [{ single_predicate: { input: headerInput('x') } }, go('a')],
      ),
      [
        'matcher_list.matchers[0].predicate.single_predicate.value_match: must have exact, prefix, suffix or contains',
        'matcher_list.matchers[1].predicate.single_predicate.value_match: field not present',
      ],
    ],
    [
      'an extension that compares',
      list([
        { single_predicate: { input: headerInput('x'), custom_match: { name: 'cel' } } },
        go('a'),
      ]),
      [
        'matcher_list.matchers[0].predicate.single_predicate.custom_match: unsupported: use value_match',
      ],
    ],
    [
      'another input',
      list([
        {
          single_predicate: {
            input: {
              name: 'attributes',
              typed_config: { '@type': 'type.googleapis.com/google.protobuf.Struct', value: {} },
            },
            value_match: { exact: '' },
          },
        },
        go('a'),
      ]),
      [
        'matcher_list.matchers[0].predicate.single_predicate.input.typed_config: must be envoy.type.matcher.v3.HttpRequestHeaderMatchInput, not google.protobuf.Struct',
      ],
    ],
    [
      'no input',
      list([{ single_predicate: { value_match: { exact: '' } } }, go('a')]),
      ['matcher_list.matchers[0].predicate.single_predicate.input.typed_config: field not present'],
    ],
    [
      'a header that is none',
      exactMap('a b', { a: go('a') }),
      ['matcher_tree.input.typed_config.header_name: must be the name of a header'],
    ],
    [
      'a header with a name of 16 KiB',
      exactMap('a'.repeat(16_384), { a: go('a') }),
      ['matcher_tree.input.typed_config.header_name: must be the name of a header'],
    ],
    [
      'a header that is not known yet',
      prefixMap(':authority', { a: go('a') }),
      [
        "matcher_tree.input.typed_config.header_name: :authority is not known to a client's filters",
      ],
    ],
    [
      'empty maps',
      exactMap('x', {}, { on_no_match: tree(prefixMap('x', {})) }),
      [
        'matcher_tree.exact_match_map.map: must not be empty',
        'on_no_match.matcher.matcher_tree.prefix_match_map.map: must not be empty',
      ],
    ],
    [
      'no map',
      { matcher_tree: { input: headerInput('x') } },
      ['matcher_tree: must have exact_match_map or prefix_match_map'],
    ],
    [
      'an extension that looks up',
      { matcher_tree: { input: headerInput('x'), custom_match: { name: 'ip' } } },
      ['matcher_tree.custom_match: unsupported'],
    ],
  ])('with %s is refused', (_case, json, expected) => {
    expect(parse(json)).toEqual({ matcher: undefined, violations: expected });
  });

  it('can be described', () => {
    const both = {
      and_matcher: { predicate: [equals('x', '1'), { not_matcher: equals('y', '2') }] },
    };
    const inner = exactMap(
      'm',
      { a: go('exact') },
      { on_no_match: tree(prefixMap('p', { b: go('prefix') })) },
    );
    expect(describeMatcher(mustParse(list([both, tree(inner)])), ({ name }) => name)).toEqual({
      matches: [
        {
          when: { all: [{ header: 'x', exact: '1' }, { not: { header: 'y', exact: '2' } }] },
          then: {
            header: 'm',
            matches: [{ exact: 'a', then: 'exact' }],
            otherwise: {
              header: 'p',
              matches: [{ prefix: 'b', then: 'prefix' }],
              otherwise: undefined,
            },
          },
        },
      ],
      otherwise: undefined,
    });
  });
});

describe('the steps of a match', () => {
  it('are spent by the characters of the header; without any left no action is found', () => {
    const matcher: Matcher<NamedAction> = {
      kind: 'list',
      entries: Array.from({ length: 20_000 }, () => ({
        predicate: {
          kind: 'header',
          name: 'x',
          matcher: { kind: 'contains', text: `${'a'.repeat(300)}b`, ignoreCase: false },
        },
        onMatch: { kind: 'action', action: { name: 'found' } },
      })),
      onNoMatch: undefined,
    };
    const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);
    const headers = new ReadableHeaders('/s/m', headersOf({ x: 'a'.repeat(1_000_000) }), meter);
    meter.begin();
    expect(findAction(matcher, headers)).toBeUndefined();
    expect(meter.end()).toEqual({
      limit: 'maxMatchStepsPerCall',
      subject: 'header "x"',
      textLength: 1_000_000,
    });
  });
});
