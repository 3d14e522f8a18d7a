import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { createHeaderMutationFilter } from '../../../src/http-filters/header-mutation/header-mutation-filter';
import { HttpFilterRegistry } from '../../../src/http-filters/registry';
import { routerFilter } from '../../../src/http-filters/router/router-filter';
import { compileFilterChain } from '../../../src/resolver/filter-chain';
import type { HttpFilterConfig } from '../../../src/resources/extension-points';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../../resources/decode-json';
import type { Json } from '../../support/xds-json';
import { callWith, headersOf } from '../calls';
import { CallFilterChain } from '../../../src/http-filters/call-filter-chain';

const TYPE = 'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation';
const registry = new HttpFilterRegistry([
  createHeaderMutationFilter(new Re2Compiler(DEFAULT_LIMITS)),
  routerFilter,
]);

function parse(
  method: 'parseConfig' | 'parseOverride',
  json: Json,
): HttpFilterConfig | readonly string[] {
  const violations = Violations.root();
  const typeName = method === 'parseConfig' ? TYPE : `${TYPE}PerRoute`;
  const typed = { typeUrl: `x/${typeName}`, value: encodeMessage(typeName, json) };
  const config = registry[method](typed, violations);
  return config === undefined || violations.count > 0 ? violations.all : config;
}

function valid(method: 'parseConfig' | 'parseOverride', json: Json): HttpFilterConfig {
  const config = parse(method, json);
  if (!('configType' in config)) throw new Error(config.join('; '));
  return config;
}

const append = (key: string, value: string, extra: Json = {}): Json => ({
  append: { header: { key, value }, ...extra },
});
const mutations = (request: readonly Json[], response: readonly Json[] = []): Json => ({
  mutations: { request_mutations: request, response_mutations: response },
});
const place = (json?: Json) => ({
  filterOverrides: new Map(
    json && [['m', { config: valid('parseOverride', json), disabled: false }]],
  ),
});

/** What the headers of a call become by a filter with overrides, the most specific first. */
function run(config: Json, ...overrides: readonly (Json | undefined)[]) {
  const filters = [{ name: 'm', config: valid('parseConfig', config), disabled: false }];
  const prepared = compileFilterChain({ filters, preparer: registry }, overrides.map(place));
  const headers = headersOf({ old: '1' });
  const chain = new CallFilterChain(prepared, callWith(headers));
  const request = chain.onRequestHeaders(headers);
  if ('then' in request) throw new Error('waits');
  const response = chain.onResponseHeaders(headersOf({ old: '2' }));
  return [request.getMap(), response.getMap()];
}

describe('the header mutation filter', () => {
  it('changes the headers of requests and of responses', () => {
    const removal = { remove: 'OLD' };
    const matching = { remove_on_match: { key_matcher: { prefix: 'ol' } } };
    expect(run(mutations([removal, append('A', 'x')], [append('b', 'y')]))).toEqual([
      { a: 'x' },
      { old: '2', b: 'y' },
    ]);
    expect(run(mutations([], [matching]))).toEqual([{ old: '1' }, {}]);
  });

  it('does nothing without mutations', () => {
    const filters = [{ name: 'm', config: valid('parseConfig', {}), disabled: false }];
    expect(compileFilterChain({ filters, preparer: registry }, [])).toEqual([]);
  });

  it.each([
    ['a command', append('a', '%REQ(b)%'), {}],
    ['an empty value', append('a', ''), {}],
    ['an empty value that is kept', append('a', '', { keep_empty_value: true }), { a: '' }],
    ['an escaped percent sign', append('a', '100%%'), { a: '100%' }],
  ])('takes a value with %s for what Envoy does, or leaves it out', (_case, mutation, expected) => {
    expect(run(mutations([mutation]))[0]).toEqual({ old: '1', ...expected });
  });

  // Of the filter first; then, as in Envoy, the least specific override is applied last, unless the most specific wins.
  it.each([
    [false, '0321', 'outer'],
    [true, '0123', 'inner'],
  ])('applies the overrides of all places (most specific wins: %s)', (wins, order, last) => {
    const overwrite = (value: string) =>
      append('set', value, { append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' });
    const add = (n: string) => append('order', n);
    const config = {
      ...mutations([add('0')]),
      most_specific_header_mutations_wins: wins,
    };
    const inner = mutations([add('3'), overwrite('inner')]);
    const middle = mutations([add('2')]);
    const outer = mutations([add('1'), overwrite('outer')]);
    const filters = [{ name: 'm', config: valid('parseConfig', config), disabled: false }];
    const prepared = compileFilterChain(
      { filters, preparer: registry },
      [inner, middle, outer].map(place),
    );
    const headers = headersOf();
    void new CallFilterChain(prepared, callWith(headers)).onRequestHeaders(headers);
    expect(headers.get('order').join('')).toBe(order);
    expect(headers.get('set')).toEqual([last]);
  });

  it.each<[string, Json, string]>([
    [
      'no action',
      mutations([{}]),
      'mutations.request_mutations[0]: must have remove, append or remove_on_match',
    ],
    [
      'an illegal name',
      mutations([{ remove: 'a b' }]),
      'mutations.request_mutations[0].remove: must be a header name, not "a b"',
    ],
    [
      'no matcher',
      mutations([{ remove_on_match: {} }]),
      'mutations.request_mutations[0].remove_on_match.key_matcher: field not present',
    ],
    [
      'a bad expression',
      mutations([], [{ remove_on_match: { key_matcher: { safe_regex: { regex: '(' } } } }]),
      'mutations.response_mutations[0].remove_on_match.key_matcher.safe_regex.regex: must be an RE2 expression: missing closing ): `(`',
    ],
    [
      'too many',
      mutations(Array.from({ length: 1001 }, () => ({ remove: 'a' }))),
      'mutations.request_mutations: must not have more than 1000 entries, but has 1001',
    ],
  ])('rejects %s', (_case, json, reason) => {
    expect(parse('parseConfig', json)).toEqual([reason]);
    expect(parse('parseOverride', json)).toEqual([reason]);
  });
});
