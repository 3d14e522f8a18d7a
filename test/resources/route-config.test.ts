import { RouteConfiguration } from '../../src/wire/generated/envoy/config/route/v3/route';
import { createResourceTypes } from '../../src/resources/resource-types';
import type {
  HostRewrite,
  Route,
  RouteAction,
  VirtualHost,
} from '../../src/resources/route-config/route-config';
import { routeConfigJson, routeToCluster, type Json } from '../support/xds-json';
import {
  decodeBytes,
  encode,
  extensions,
  serverWith,
  types,
  valueOf,
  violationsOf,
  type DecodeOptions,
} from './decode-json';

type Forward = Extract<RouteAction, { kind: 'forward' }>;
type Options = DecodeOptions<never>;

const parse = (json: Json, options?: Options) => valueOf(types.routeConfig, json, options);
const reject = (json: Json) => violationsOf(types.routeConfig, json);

function virtualHostOf(json: Json): VirtualHost {
  const [virtualHost] = parse({
    name: 'r',
    virtual_hosts: [{ domains: ['*'], ...json }],
  }).virtualHosts;
  if (virtualHost === undefined) throw new Error('no virtual host');
  return virtualHost;
}

function routesOf(routes: readonly Json[], options?: Options): readonly Route[] {
  return parse(routeConfigJson('r', routes), options).virtualHosts.flatMap((host) => host.routes);
}

function routeOf(route: Json): Route {
  const [parsed] = routesOf([route]);
  if (parsed === undefined) throw new Error('the route was left out');
  return parsed;
}

const matchOf = (match: Json) => routeOf({ match, route: { cluster: 'c' } }).match;

function actionOf(action: Json, options?: Options): Forward {
  const route = { match: { prefix: '' }, route: { cluster: 'c', ...action } };
  const [parsed] = routesOf([route], options);
  if (parsed?.action.kind !== 'forward') throw new Error('not a route to clusters');
  return parsed.action;
}

/** Violations of the only route, without their common start. */
function rejectRoute(route: Json): readonly string[] {
  const start = 'virtual_hosts[0].routes[0].';
  return reject(routeConfigJson('r', [route])).map((violation) => {
    if (!violation.startsWith(start)) throw new Error(violation);
    return violation.slice(start.length);
  });
}

const rejectMatch = (match: Json) => rejectRoute({ match, route: { cluster: 'c' } });
const rejectAction = (route: Json) => rejectRoute({ match: { prefix: '' }, route });

describe('a virtual host', () => {
  it('lists the clusters that its routes name, once, in order of appearance', () => {
    const weighted = (...names: readonly string[]): Json => ({
      clusters: names.map((name) => ({ name, weight: 1 })),
    });
    const { clusters } = virtualHostOf({
      routes: [
        routeToCluster('b'),
        { match: { prefix: '' }, redirect: {} },
        { match: { prefix: '' }, route: { weighted_clusters: weighted('c', 'a') } },
        routeToCluster('b'),
        routeToCluster('constructor'),
      ],
    });
    expect([...clusters]).toEqual(['b', 'c', 'a', 'constructor']);
  });

  it('lists the regular expressions of its routes, each once', () => {
    const { regexes } = virtualHostOf({
      routes: [
        { match: { safe_regex: { regex: 'a' } }, route: { cluster: 'c' } },
        {
          match: { prefix: '', headers: [{ name: 'x', safe_regex_match: { regex: 'b' } }] },
          route: {
            cluster: 'c',
            hash_policy: [
              {
                header: {
                  header_name: 'y',
                  regex_rewrite: { pattern: { regex: 'a' }, substitution: '' },
                },
              },
            ],
          },
        },
      ],
    });
    expect(regexes.map(({ pattern }) => pattern)).toEqual(['a', 'b']);
  });
});

describe('a route configuration', () => {
  it('is taken over as it is', () => {
    expect(parse(routeConfigJson('r', [{ name: 'first', ...routeToCluster('c') }]))).toEqual({
      name: 'r',
      virtualHosts: [
        {
          name: 'all',
          domains: ['*'],
          retryPolicy: undefined,
          filterOverrides: new Map(),
          clusters: new Set(['c']),
          regexes: [],
          routes: [
            {
              index: 0,
              name: 'first',
              match: {
                path: { kind: 'prefix', text: '', caseSensitive: true },
                headers: [],
                fractionPerMillion: undefined,
              },
              action: {
                kind: 'forward',
                clusters: { kind: 'cluster', name: 'c' },
                maxStreamDurationMs: undefined,
                retryPolicy: undefined,
                hashPolicies: [],
                hostRewrite: undefined,
              },
              filterOverrides: new Map(),
            },
          ],
        },
      ],
    });
  });

  it('may be empty', () => {
    expect(parse({ name: 'r' })).toEqual({ name: 'r', virtualHosts: [] });
  });

  it('may have names that mean something to JavaScript', () => {
    expect(routeOf(routeToCluster('__proto__')).action).toMatchObject({
      clusters: { kind: 'cluster', name: '__proto__' },
    });
    expect(virtualHostOf({ name: 'constructor', domains: ['toString'] })).toMatchObject({
      name: 'constructor',
      domains: ['toString'],
    });
  });
});

describe('domains', () => {
  it('have a star at one end at most', () => {
    const domains = ['*', '*.x', 'x.*', 'x', '*x', 'x*'];
    expect(virtualHostOf({ domains }).domains).toEqual(domains);
  });

  it('are refused otherwise', () => {
    const domains = ['', 'a*b', '*a*', '**', 'ok'];
    const reason = 'must be a name, possibly with one * at its start or end, not';
    expect(reject({ name: 'r', virtual_hosts: [{ domains }, {}] })).toEqual([
      `virtual_hosts[0].domains[0]: ${reason} ""`,
      `virtual_hosts[0].domains[1]: ${reason} "a*b"`,
      `virtual_hosts[0].domains[2]: ${reason} "*a*"`,
      `virtual_hosts[0].domains[3]: ${reason} "**"`,
      'virtual_hosts[1].domains: must not be empty',
    ]);
  });
});

describe('a path matcher', () => {
  it.each<[Json, object]>([
    [{ prefix: '/a' }, { kind: 'prefix', text: '/a', caseSensitive: true }],
    [
      { prefix: '/A', case_sensitive: false },
      { kind: 'prefix', text: '/a', caseSensitive: false },
    ],
    [{ prefix: '/S/' }, { kind: 'prefix', text: '/S/', caseSensitive: true }],
    [{ path: '/S/M' }, { kind: 'path', text: '/S/M', caseSensitive: true }],
    [
      { path: '/S/M', case_sensitive: true },
      { kind: 'path', text: '/S/M', caseSensitive: true },
    ],
    [
      { path: '/S/M', case_sensitive: false },
      { kind: 'path', text: '/s/m', caseSensitive: false },
    ],
  ])('%j', (match, expected) => {
    expect(matchOf(match).path).toEqual(expected);
  });

  it('may be an expression, which must match the whole path', () => {
    const { path } = matchOf({ safe_regex: { regex: '/foo|/bar' } });
    if (path.kind !== 'regex') throw new Error(path.kind);
    expect(['/foo', '/bar', '/foobaz'].map((text) => path.regex.matches(text))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each<[string, Json, string]>([
    ['nothing', {}, 'match: must have prefix, path or safe_regex'],
    ['connect_matcher', { connect_matcher: {} }, 'match: must have prefix, path or safe_regex'],
    [
      'path_separated_prefix',
      { path_separated_prefix: '/a' },
      'match: must have prefix, path or safe_regex',
    ],
    ['empty expression', { safe_regex: {} }, 'match.safe_regex.regex: must not be empty'],
    [
      'bad expression',
      { safe_regex: { regex: '(' } },
      'match.safe_regex.regex: must be an RE2 expression: missing closing ): `(`',
    ],
  ])('%s is refused', (_case, match, expected) => {
    expect(rejectMatch(match)).toEqual([expected]);
  });
});

describe('a route that no call can match is left out, with all that may be wrong with it', () => {
  const wrong = { route: { cluster: '' }, typed_per_filter_config: {} };

  it.each<Json>([
    { prefix: 'a' },
    { prefix: '//' },
    { prefix: '/a/b/' },
    { prefix: '/a/b/c' },
    { path: '' },
    { path: 'a' },
    { path: '/a' },
    { path: '/a/' },
    { path: '//b' },
    { path: '/a/b/c' },
    { prefix: '', query_parameters: [{ name: 'q', present_match: true }] },
    { query_parameters: [{ name: 'q', present_match: true }] },
  ])('%j', (match) => {
    expect(
      routesOf([
        { match, ...wrong },
        { name: 'next', ...routeToCluster('c') },
      ]),
    ).toMatchObject([{ index: 1, name: 'next' }]);
  });

  it.each<Json>([{ prefix: '/' }, { prefix: '/a' }, { prefix: '/a/' }, { prefix: '/a/b' }])(
    'but not %j',
    (match) => {
      expect(routesOf([{ match, route: { cluster: 'c' } }])).toHaveLength(1);
    },
  );
});

describe('a header matcher', () => {
  const header = (json: Json) =>
    matchOf({ prefix: '', headers: [{ name: 'X-H', ...json }] }).headers[0];
  const text = (kind: string, value: string, ignoreCase = false) => ({
    name: 'x-h',
    condition: { kind: 'string', matcher: { kind, text: value, ignoreCase } },
    invert: false,
    missingAsEmpty: false,
  });

  it.each<[Json, object]>([
    [{ exact_match: 'V' }, text('exact', 'V')],
    [{ exact_match: '' }, text('exact', '')],
    [{ prefix_match: 'V' }, text('prefix', 'V')],
    [{ suffix_match: 'V' }, text('suffix', 'V')],
    [{ contains_match: 'V' }, text('contains', 'V')],
    [{ string_match: { exact: 'V' } }, text('exact', 'V')],
    [{ string_match: { exact: '' } }, text('exact', '')],
    [{ string_match: { prefix: 'V', ignore_case: true } }, text('prefix', 'v', true)],
    [{ string_match: { suffix: 'V', ignore_case: true } }, text('suffix', 'v', true)],
    [{ string_match: { contains: 'V' } }, text('contains', 'V')],
    [
      { exact_match: 'V', invert_match: true },
      { ...text('exact', 'V'), invert: true },
    ],
    [
      { exact_match: 'V', invert_match: true, treat_missing_header_as_empty: true },
      { ...text('exact', 'V'), invert: true, missingAsEmpty: true },
    ],
    [
      { range_match: { start: '-9223372036854775808', end: '9223372036854775807' } },
      {
        name: 'x-h',
        condition: {
          kind: 'range',
          start: -9223372036854775808n,
          end: 9223372036854775807n,
        },
        invert: false,
        missingAsEmpty: false,
      },
    ],
    [
      { range_match: { start: 5, end: 5 } },
      {
        name: 'x-h',
        condition: { kind: 'range', start: 5n, end: 5n },
        invert: false,
        missingAsEmpty: false,
      },
    ],
    [
      { present_match: true },
      {
        name: 'x-h',
        condition: { kind: 'present', present: true },
        invert: false,
        missingAsEmpty: false,
      },
    ],
    // Set to false is not the same as not set.
    [
      { present_match: false },
      {
        name: 'x-h',
        condition: { kind: 'present', present: false },
        invert: false,
        missingAsEmpty: false,
      },
    ],
  ])('%j', (json, expected) => {
    expect(header(json)).toEqual(expected);
  });

  it.each<Json>([
    { safe_regex_match: { regex: 'foo|bar' } },
    { string_match: { safe_regex: { regex: 'foo|bar' } } },
    // Case cannot be ignored in an expression; it has its own way to say so.
    { string_match: { safe_regex: { regex: 'foo|bar' }, ignore_case: true } },
  ])('%j must match the whole value', (json) => {
    const condition = header(json)?.condition;
    if (condition?.kind !== 'string' || condition.matcher.kind !== 'regex') throw new Error();
    const { regex } = condition.matcher;
    expect(['foo', 'bar', 'foobaz', 'FOO'].map((value) => regex.matches(value))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it.each<[Json, string]>([
    [
      {},
      ': must have exact_match, safe_regex_match, range_match, present_match, prefix_match, suffix_match, contains_match or string_match',
    ],
    [{ name: '', exact_match: 'a' }, '.name: must not be empty'],
    [{ prefix_match: '' }, '.prefix_match: must not be empty'],
    [{ suffix_match: '' }, '.suffix_match: must not be empty'],
    [{ contains_match: '' }, '.contains_match: must not be empty'],
    [{ range_match: { start: 2, end: 1 } }, '.range_match: end 1 must not be less than start 2'],
    [{ safe_regex_match: {} }, '.safe_regex_match.regex: must not be empty'],
    [
      { safe_regex_match: { regex: '[' } },
      '.safe_regex_match.regex: must be an RE2 expression: missing closing ]: `[`',
    ],
    [
      { string_match: {} },
      '.string_match: must have exact, prefix, suffix, contains or safe_regex',
    ],
    [
      { string_match: { custom: { name: 'x' } } },
      '.string_match: must have exact, prefix, suffix, contains or safe_regex',
    ],
    [{ string_match: { prefix: '' } }, '.string_match.prefix: must not be empty'],
    [{ string_match: { suffix: '' } }, '.string_match.suffix: must not be empty'],
    [{ string_match: { contains: '' } }, '.string_match.contains: must not be empty'],
    [{ string_match: { safe_regex: {} } }, '.string_match.safe_regex.regex: must not be empty'],
  ])('%j is refused', (json, expected) => {
    const headers = [
      { name: 'ok', exact_match: 'x' },
      { name: 'x-h', ...json },
    ];
    expect(rejectMatch({ prefix: '', headers })).toEqual([`match.headers[1]${expected}`]);
  });
});

describe('a fraction', () => {
  const fraction = (default_value: Json) =>
    matchOf({ prefix: '', runtime_fraction: { default_value, runtime_key: 'k' } })
      .fractionPerMillion;

  it.each<[Json, number]>([
    [{ numerator: 25 }, 250_000],
    [{ numerator: 25, denominator: 'HUNDRED' }, 250_000],
    [{ numerator: 25, denominator: 'TEN_THOUSAND' }, 2500],
    [{ numerator: 25, denominator: 'MILLION' }, 25],
    [{ numerator: 0 }, 0],
    [{ numerator: 101 }, 1_000_000],
    [{ numerator: 4_294_967_295 }, 1_000_000],
  ])('%j is %j per million', (json, expected) => {
    expect(fraction(json)).toBe(expected);
  });

  it('without a value is refused', () => {
    expect(rejectMatch({ prefix: '', runtime_fraction: { runtime_key: 'k' } })).toEqual([
      'match.runtime_fraction.default_value: field not present',
    ]);
  });

  it('of something unknown is refused', () => {
    const runtime_fraction = { default_value: { numerator: 1, denominator: 3 } };
    expect(rejectMatch({ prefix: '', runtime_fraction })).toEqual([
      'match.runtime_fraction.default_value.denominator: must be HUNDRED, TEN_THOUSAND or MILLION, not 3',
    ]);
  });
});

describe('a route action', () => {
  it.each<[Json, string]>([
    [{ redirect: {} }, 'redirect'],
    [{ direct_response: { status: 404 } }, 'direct_response'],
    [{ filter_action: {} }, 'filter_action'],
    [{}, 'unset'],
  ])('%j is legal, though a client cannot carry it out', (action, name) => {
    expect(routeOf({ match: { prefix: '' }, ...action }).action).toEqual({
      kind: 'unsupported',
      action: name,
    });
  });

  it('of a server is one of its own', () => {
    const { action } = routeOf({ match: { prefix: '' }, non_forwarding_action: {} });
    expect(action).toEqual({ kind: 'non-forwarding' });
  });

  it.each<Json>([
    {},
    { cluster_header: 'x-cluster' },
    { inline_cluster_specifier_plugin: { extension: { name: 'x' } } },
  ])(
    '%j makes the route unusable, and what else is wrong with the action does not matter',
    (route) => {
      const unusable = {
        match: { prefix: '' },
        route: { ...route, retry_policy: { num_retries: 0 } },
        typed_per_filter_config: {},
      };
      expect(routesOf([unusable, { name: 'next', ...routeToCluster('c') }])).toMatchObject([
        { name: 'next' },
      ]);
    },
  );

  it('of a kind added to the protocol later makes the route unusable', () => {
    // Field 99, length-delimited, inside the action (2) of a route (2) of a virtual host (2).
    const action = Uint8Array.of(0x9a, 0x06, 0x01, 0x78);
    const route = Uint8Array.of(0x0a, 0x02, 0x0a, 0x00, 0x12, action.length, ...action);
    const host = Uint8Array.of(0x12, 0x01, 0x2a, 0x1a, route.length, ...route);
    const { result } = decodeBytes(types.routeConfig, Uint8Array.of(0x12, host.length, ...host));
    expect(result).toMatchObject({
      ok: true,
      value: expect.objectContaining({
        virtualHosts: [expect.objectContaining({ domains: ['*'], routes: [] })],
      }),
    });
  });

  it.each<[Json, number | undefined]>([
    [{ grpc_timeout_header_max: '1s', max_stream_duration: '2s' }, 1000],
    [{ grpc_timeout_header_max: '0s', max_stream_duration: '2s' }, 0],
    [{ max_stream_duration: '2.5s' }, 2500],
    [{ max_stream_duration: '0s' }, 0],
    [{ grpc_timeout_header_offset: '1s' }, undefined],
  ])('with max_stream_duration %j limits calls to %j ms', (max_stream_duration, expected) => {
    expect(actionOf({ max_stream_duration, timeout: '7s' }).maxStreamDurationMs).toBe(expected);
  });

  describe('that rewrites the authority', () => {
    const hostname = { kind: 'endpoint-hostname' };
    const literal = { kind: 'literal', authority: 'h' };

    it.each<[Json, HostRewrite | undefined]>([
      [{ auto_host_rewrite: true }, { kind: 'endpoint-hostname' }],
      [{ auto_host_rewrite: false }, undefined],
      [{ host_rewrite_literal: 'h' }, { kind: 'literal', authority: 'h' }],
      [{ host_rewrite_literal: '' }, undefined],
      [{}, undefined],
    ])('by %j does so if it comes from a trusted server', (extra, expected) => {
      const trusted = { server: serverWith('trusted_xds_server') };
      expect(actionOf(extra, trusted).hostRewrite).toEqual(expected);
      expect(actionOf(extra, { server: serverWith('xds_v3') }).hostRewrite).toBeUndefined();
    });

    it.each([
      [{}, undefined, undefined],
      [{ authorityRewrite: true }, hostname, undefined],
      [{ literalAuthorityRewrite: true }, undefined, literal],
    ])('does so in the way that is switched on: %j', (on, byHostname, byLiteral) => {
      const { lbConfigs, httpFilters, regexes } = extensions;
      const { routeConfig } = createResourceTypes({ lbConfigs, httpFilters, regexes, ...on });
      const rewriteOf = (extra: Json) => {
        const json = routeConfigJson('r', [routeToCluster('c', extra)]);
        const server = serverWith('trusted_xds_server');
        const action = valueOf(routeConfig, json, { server }).virtualHosts[0]?.routes[0]?.action;
        return action?.kind === 'forward' ? action.hostRewrite : 'no action';
      };
      expect(rewriteOf({ auto_host_rewrite: true })).toEqual(byHostname);
      expect(rewriteOf({ host_rewrite_literal: 'h' })).toEqual(byLiteral);
    });
  });

  it('is refused with everything that is wrong with it', () => {
    expect(
      rejectAction({
        cluster: '',
        max_stream_duration: { grpc_timeout_header_max: '-1s', max_stream_duration: '-2s' },
        retry_policy: { num_retries: 0, retry_back_off: {} },
        hash_policy: [{ header: {} }, { cookie: { name: '' } }],
      }),
    ).toEqual([
      'route.cluster: must not be empty',
      'route.max_stream_duration.grpc_timeout_header_max.seconds: must be from 0 to 315576000000, not -1',
      'route.retry_policy.num_retries: must be at least 1, not 0',
      'route.retry_policy.retry_back_off.base_interval: field not present',
      'route.hash_policy[0].header.header_name: must not be empty',
    ]);
  });

  it('is needed with a match', () => {
    expect(rejectRoute({ route: { cluster: '' } })).toEqual([
      'match: field not present',
      'route.cluster: must not be empty',
    ]);
  });
});

describe('weighted clusters', () => {
  const weighted = (clusters: readonly Json[], extra: Json = {}) =>
    actionOf({ cluster: undefined, weighted_clusters: { clusters, ...extra } }).clusters;
  const rejectWeighted = (clusters: readonly Json[]) =>
    rejectAction({ weighted_clusters: { clusters } });
  const filterOverrides = new Map();

  it('share the calls by weight, whatever total_weight says', () => {
    const clusters = [
      { name: 'a', weight: 1 },
      { name: 'off', weight: 0 },
      { name: 'unset' },
      { name: 'constructor', weight: 3 },
      { name: 'off' },
      { name: 'a', weight: 0 },
    ];
    const expected = {
      kind: 'weighted',
      clusters: [
        { name: 'a', weight: 1, filterOverrides },
        { name: 'constructor', weight: 3, filterOverrides },
      ],
      totalWeight: 4,
      zeroWeight: ['off', 'unset'],
    };
    expect(weighted(clusters)).toEqual(expected);
    expect(weighted(clusters, { total_weight: 100 })).toEqual(expected);
  });

  it('may weigh as much as 32 bits can say, together', () => {
    const clusters = [
      { name: 'a', weight: 4_294_967_294 },
      { name: 'b', weight: 1 },
    ];
    expect(weighted(clusters)).toMatchObject({ totalWeight: 4_294_967_295 });
  });

  it.each<[string, readonly Json[], readonly string[]]>([
    ['none', [], [': must have a cluster with a weight greater than 0']],
    [
      'all without weight',
      [{ name: 'a', weight: 0 }, { name: 'b' }],
      [': must have a cluster with a weight greater than 0'],
    ],
    [
      'too heavy',
      [
        { name: 'a', weight: 4_294_967_295 },
        { name: 'b', weight: 1 },
      ],
      [': the sum of the weights must not exceed 4294967295, but is 4294967296'],
    ],
    [
      'without names, even where there is no weight',
      [
        { weight: 1 },
        { weight: 0, cluster_header: 'x' },
        { name: 'c', weight: 1, typed_per_filter_config: { '': {} } },
      ],
      [
        '[0].name: must not be empty',
        '[1].name: must not be empty',
        '[2].typed_per_filter_config[""]: must have a type',
      ],
    ],
  ])('are refused: %s', (_case, clusters, expected) => {
    expect(rejectWeighted(clusters)).toEqual(
      expected.map((violation) => `route.weighted_clusters.clusters${violation}`),
    );
  });
});

describe('a cluster specifier plugin', () => {
  const plugin = (extra: Json = {}): Json => ({
    extension: {
      name: 'rls',
      typed_config: { '@type': 'type.googleapis.com/google.protobuf.Struct', value: {} },
    },
    ...extra,
  });
  const withPlugins = (plugins: readonly Json[], name = 'rls'): Json => ({
    ...routeConfigJson('r', [
      { match: { prefix: '' }, route: { cluster_specifier_plugin: name } },
      { name: 'next', ...routeToCluster('c') },
    ]),
    cluster_specifier_plugins: plugins,
  });

  it.each<[string, readonly Json[]]>([
    ['of an unknown type', [plugin({ is_optional: true })]],
    ['listed twice', [plugin({ is_optional: true }), plugin({ is_optional: true })]],
    ['without a configuration', [{ extension: { name: 'rls' }, is_optional: true }]],
    ['beside one without an extension', [plugin({ is_optional: true }), { is_optional: true }]],
  ])('that is optional takes its routes with it: %s', (_case, plugins) => {
    const config = parse(withPlugins(plugins));
    expect(config.virtualHosts[0]?.routes).toMatchObject([{ name: 'next' }]);
  });

  it.each<[string, Json, readonly string[]]>([
    [
      'unknown',
      withPlugins([plugin()]),
      [
        'cluster_specifier_plugins[0].extension.typed_config: unsupported cluster specifier plugin google.protobuf.Struct',
      ],
    ],
    [
      'not listed',
      withPlugins([], '__proto__'),
      [
        'virtual_hosts[0].routes[0].route.cluster_specifier_plugin: no entry of cluster_specifier_plugins is named "__proto__"',
      ],
    ],
    [
      'without content',
      withPlugins([plugin({ is_optional: true }), {}, { extension: { name: 'x' } }]),
      [
        'cluster_specifier_plugins[1].extension.typed_config: field not present',
        'cluster_specifier_plugins[2].extension.typed_config: field not present',
      ],
    ],
  ])('is refused: %s', (_case, json, expected) => {
    expect(reject(json)).toEqual(expected);
  });
});

describe('a retry policy', () => {
  const retry = (retry_policy: Json) => actionOf({ retry_policy }).retryPolicy;
  const unavailable = {
    retryOn: ['unavailable'],
    maxAttempts: 2,
    baseIntervalMs: 25,
    maxIntervalMs: 250,
  };

  it.each<[Json, object | string]>([
    [{ retry_on: 'unavailable' }, unavailable],
    [
      { retry_on: ' Unavailable , CANCELLED,5xx,cancelled,,deadline-exceeded' },
      { ...unavailable, retryOn: ['unavailable', 'cancelled', 'deadline-exceeded'] },
    ],
    [
      { retry_on: 'internal,resource-exhausted' },
      { ...unavailable, retryOn: ['internal', 'resource-exhausted'] },
    ],
    [
      { retry_on: 'unavailable', num_retries: 4 },
      { ...unavailable, maxAttempts: 5 },
    ],
    [
      { retry_on: 'unavailable', num_retries: 4_294_967_295 },
      { ...unavailable, maxAttempts: 4_294_967_296 },
    ],
    // Whole seconds stay whole: 1 s is a thousand milliseconds.
    [
      { retry_on: 'unavailable', retry_back_off: { base_interval: '1s', max_interval: '2.5s' } },
      { ...unavailable, baseIntervalMs: 1000, maxIntervalMs: 2500 },
    ],
    [
      { retry_on: 'unavailable', retry_back_off: { base_interval: '0.003s' } },
      { ...unavailable, baseIntervalMs: 3, maxIntervalMs: 30 },
    ],
    [
      { retry_on: 'unavailable', retry_back_off: { base_interval: '0.000000001s' } },
      { ...unavailable, baseIntervalMs: 1, maxIntervalMs: 10 },
    ],
    [
      {
        retry_on: 'unavailable',
        retry_back_off: { base_interval: '0.0001s', max_interval: '0.0002s' },
      },
      { ...unavailable, baseIntervalMs: 1, maxIntervalMs: 1 },
    ],
    [{ retry_on: '5xx,gateway-error' }, 'none'],
    [{ retry_on: 'constructor,__proto__' }, 'none'],
    [{}, 'none'],
  ])('%j', (json, expected) => {
    expect(retry(json)).toEqual(expected);
  });

  it('of a virtual host stands beside those of its routes', () => {
    const host = virtualHostOf({
      retry_policy: { retry_on: 'internal' },
      routes: [routeToCluster('a'), routeToCluster('b', { retry_policy: { retry_on: '5xx' } })],
    });
    expect(host.retryPolicy).toMatchObject({ retryOn: ['internal'] });
    expect(host.routes).toMatchObject([
      { action: { retryPolicy: undefined } },
      { action: { retryPolicy: 'none' } },
    ]);
  });

  it.each<[Json, string]>([
    [{ num_retries: 0 }, 'num_retries: must be at least 1, not 0'],
    [{ retry_back_off: {} }, 'retry_back_off.base_interval: field not present'],
    [{ retry_back_off: { max_interval: '1s' } }, 'retry_back_off.base_interval: field not present'],
    [
      { retry_back_off: { base_interval: '0s' } },
      'retry_back_off.base_interval: must be more than 0',
    ],
    [
      { retry_back_off: { base_interval: '1s', max_interval: '0s' } },
      'retry_back_off.max_interval: must be more than 0',
    ],
    [
      { retry_back_off: { base_interval: '-1s' } },
      'retry_back_off.base_interval.seconds: must be from 0 to 315576000000, not -1',
    ],
    [
      { retry_back_off: { base_interval: '2s', max_interval: '1s' } },
      'retry_back_off.max_interval: must not be less than base_interval, which is 2000 ms, but is 1000 ms',
    ],
  ])('%j is refused, on a route and on a virtual host', (retry_policy, expected) => {
    expect(rejectAction({ cluster: 'c', retry_policy })).toEqual([
      `route.retry_policy.${expected}`,
    ]);
    expect(reject({ name: 'r', virtual_hosts: [{ domains: ['*'], retry_policy }] })).toEqual([
      `virtual_hosts[0].retry_policy.${expected}`,
    ]);
  });
});

describe('a hash policy', () => {
  const policies = (...hash_policy: readonly Json[]) => actionOf({ hash_policy }).hashPolicies;

  it('is about a header or the channel; others give no hash', () => {
    expect(
      policies(
        { header: { header_name: 'X-User' }, terminal: true },
        { cookie: { name: 'c' } },
        { connection_properties: { source_ip: true } },
        { query_parameter: { name: 'q' } },
        { filter_state: { key: 'other' } },
        {},
        { filter_state: { key: 'io.grpc.channel_id' } },
      ),
    ).toEqual([
      { kind: 'header', headerName: 'x-user', rewrite: undefined, terminal: true },
      { kind: 'channel-id', terminal: false },
    ]);
  });

  it('may rewrite the header', () => {
    const [policy] = policies({
      header: {
        header_name: 'user',
        regex_rewrite: { pattern: { regex: '^(\\w+)-.*$' }, substitution: '\\1' },
      },
    });
    if (policy?.kind !== 'header' || policy.rewrite === undefined) throw new Error();
    const { regex, substitution } = policy.rewrite;
    expect(regex.replaceAll('ann-17', substitution, Infinity)).toBe('ann');
  });

  it.each<[Json, readonly string[]]>([
    [{}, ['header.header_name: must not be empty']],
    [{ header_name: 'h', regex_rewrite: {} }, ['header.regex_rewrite.pattern: field not present']],
    [
      { header_name: 'h', regex_rewrite: { pattern: {} } },
      ['header.regex_rewrite.pattern.regex: must not be empty'],
    ],
    [
      {
        header_name: 'h',
        regex_rewrite: { pattern: { regex: '.' }, substitution: 'x'.repeat(257) },
      },
      [
        'header.regex_rewrite.substitution: 257 characters are more than the limit maxRegexSubstitutionLength (256)',
      ],
    ],
    [
      { header_name: 'h', regex_rewrite: { pattern: { regex: '*' }, substitution: '\\x' } },
      [
        'header.regex_rewrite.pattern.regex: must be an RE2 expression: missing argument to repetition operator: `*`',
        'header.regex_rewrite.substitution: a backslash must be followed by a digit or a backslash',
      ],
    ],
  ])('with the header %j is refused', (header, expected) => {
    expect(rejectAction({ cluster: 'c', hash_policy: [{ header }] })).toEqual(
      expected.map((violation) => `route.hash_policy[0].${violation}`),
    );
  });
});

describe('a filter override', () => {
  const FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';
  const any = (type: string, extra: Json = {}): Json => ({
    '@type': `type.googleapis.com/${type}`,
    ...extra,
  });
  const fault = any(FAULT, { max_active_faults: 7 });
  /** Of a type in the schema that is no override. */
  const unknown = any('google.protobuf.Struct', { value: {} });
  const wrapped = (extra: Json) => any('envoy.config.route.v3.FilterConfig', extra);
  const overrides = (typed_per_filter_config: Json) =>
    virtualHostOf({ typed_per_filter_config }).filterOverrides;
  const parsed = expect.objectContaining({ configType: FAULT, maxActiveFaults: 7 });

  it('may be on a virtual host, a route and a cluster', () => {
    const typed_per_filter_config = { fault };
    const host = virtualHostOf({
      typed_per_filter_config,
      routes: [
        {
          match: { prefix: '' },
          route: {
            weighted_clusters: { clusters: [{ name: 'c', weight: 1, typed_per_filter_config }] },
          },
          typed_per_filter_config,
        },
      ],
    });
    const expected = new Map([['fault', { config: parsed, disabled: false }]]);
    expect(host.filterOverrides).toEqual(expected);
    expect(host.routes).toMatchObject([
      {
        filterOverrides: expected,
        action: { clusters: { clusters: [{ filterOverrides: expected }] } },
      },
    ]);
  });

  it('may be for a filter that does not exist, whatever its name', () => {
    const names = ['', '__proto__', 'constructor', 'nobody'];
    const json = `{${names.map((name) => `"${name}":${JSON.stringify(fault)}`).join(',')}}`;
    expect([...overrides(JSON.parse(json)).keys()].sort()).toEqual(names);
  });

  it.each<[string, Json, object]>([
    ['wrapped', wrapped({ config: fault }), { config: parsed, disabled: false }],
    [
      'wrapped and optional',
      wrapped({ config: fault, is_optional: true }),
      { config: parsed, disabled: false },
    ],
    [
      'switched off, with config',
      wrapped({ config: fault, disabled: true }),
      { config: parsed, disabled: true },
    ],
    [
      'switched off, without config',
      wrapped({ disabled: true }),
      { config: undefined, disabled: true },
    ],
    [
      'switched off, unknown and optional',
      wrapped({ config: unknown, disabled: true, is_optional: true }),
      { config: undefined, disabled: true },
    ],
  ])('may be %s', (_case, json, expected) => {
    expect(overrides({ fault: json })).toEqual(new Map([['fault', expected]]));
  });

  it('of an unknown type is left out if it is optional', () => {
    const optional = wrapped({ config: unknown, is_optional: true });
    expect(overrides({ x: optional, fault })).toEqual(
      new Map([['fault', { config: parsed, disabled: false }]]),
    );
  });

  it.each<[string, Json, string]>([
    ['of an unknown type', unknown, ': unsupported HTTP filter override google.protobuf.Struct'],
    [
      'of an unknown type, wrapped',
      wrapped({ config: unknown }),
      '.config: unsupported HTTP filter override google.protobuf.Struct',
    ],
    ['wrapped around nothing', wrapped({}), '.config: field not present'],
    [
      'wrapped around nothing, but optional',
      wrapped({ is_optional: true }),
      '.config: field not present',
    ],
    [
      'wrapped twice',
      wrapped({ config: wrapped({ config: fault }) }),
      '.config: unsupported HTTP filter override envoy.config.route.v3.FilterConfig',
    ],
    [
      'for the router',
      any('envoy.extensions.filters.http.router.v3.Router'),
      ': the router filter cannot be overridden',
    ],
    ['invalid', any(FAULT, { delay: {} }), '.delay: must have fixed_delay or header_delay'],
    [
      'invalid, wrapped and optional',
      wrapped({ config: any(FAULT, { delay: {} }), is_optional: true }),
      '.config.delay: must have fixed_delay or header_delay',
    ],
    [
      'a TypedStruct of an unknown type',
      any('xds.type.v3.TypedStruct', { type_url: 'x/acme.Override' }),
      ': unsupported HTTP filter override acme.Override',
    ],
    [
      'a TypedStruct for a message',
      any('udpa.type.v1.TypedStruct', { type_url: `type.googleapis.com/${FAULT}`, value: {} }),
      `: must be a ${FAULT} itself, not a TypedStruct that stands for one`,
    ],
  ])('is refused if %s', (_case, override, expected) => {
    const typed_per_filter_config = { 'my.filter': override };
    expect(
      reject({ name: 'r', virtual_hosts: [{ domains: ['*'], typed_per_filter_config }] }),
    ).toEqual([`virtual_hosts[0].typed_per_filter_config["my.filter"]${expected}`]);
  });

  it('is refused on a route as well', () => {
    const typed_per_filter_config = { f: any(FAULT, { abort: {} }) };
    expect(rejectRoute({ match: { prefix: '' }, redirect: {}, typed_per_filter_config })).toEqual([
      'typed_per_filter_config["f"].abort: must have http_status, grpc_status or header_abort',
    ]);
  });
});

describe('a route configuration with many mistakes', () => {
  it('is refused for all of them at once', () => {
    const routes = [
      { match: { prefix: '', headers: [{ name: 'a' }] }, route: { cluster: '' } },
      routeToCluster('fine'),
      {
        match: {
          safe_regex: { regex: ')' },
          headers: [
            { name: 'ok', exact_match: 'x' },
            { name: 'range', range_match: { start: 9, end: 1 } },
          ],
        },
        route: { weighted_clusters: {} },
      },
    ];
    expect(reject(routeConfigJson('r', routes))).toEqual([
      'virtual_hosts[0].routes[0].match.headers[0]: must have exact_match, safe_regex_match, range_match, present_match, prefix_match, suffix_match, contains_match or string_match',
      'virtual_hosts[0].routes[0].route.cluster: must not be empty',
      'virtual_hosts[0].routes[2].match.safe_regex.regex: must be an RE2 expression: unexpected ): `)`',
      'virtual_hosts[0].routes[2].match.headers[1].range_match: end 1 must not be less than start 9',
      'virtual_hosts[0].routes[2].route.weighted_clusters.clusters: must have a cluster with a weight greater than 0',
    ]);
  });
});

describe('the route configuration type', () => {
  it('does not compile an expression again that is still in use', () => {
    const json = routeConfigJson('r', [
      { match: { safe_regex: { regex: '/kept/.*' } }, route: { cluster: 'c' } },
    ]);
    const regexOf = ({ match: { path } }: Route) =>
      path.kind === 'regex' ? path.regex : undefined;
    const before = parse(json).virtualHosts.flatMap((host) => host.routes.map(regexOf));
    const after = parse(json).virtualHosts.flatMap((host) => host.routes.map(regexOf));
    expect(after[0]).toBe(before[0]);
  });

  it('reads the name without decoding the rest', () => {
    const bytes = encode(types.routeConfig, routeConfigJson('r', [routeToCluster('c')]));
    expect(types.routeConfig.peekName(bytes)).toBe('r');
    expect(
      types.routeConfig.peekName(RouteConfiguration.encode(RouteConfiguration.create()).finish()),
    ).toBe('');
  });
});
