import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { decodeWhole, type ResourceType } from '../../src/xds-client/resource-type';
import { LIST_LIMIT, MESSAGE_LIMIT } from '../../src/util/limits';
import { ReadBudget } from '../../src/util/read-budget';
import type { Json } from '../support/xds-json';
import { decodeInParts, encode, serverWith, types, violationsOf } from './decode-json';

/** Decodes part by part. @returns the number of breaks, and what is wrong. */
function decode(type: ResourceType<unknown>, bytes: Uint8Array, budget?: ReadBudget) {
  const context = { server: serverWith(), previous: () => undefined, budget };
  const { count, decoded } = decodeInParts(type, bytes, context);
  return { count, violations: decoded.result.ok ? [] : decoded.result.error };
}

/** A message within messages: field numbers from the outside, and what is in the innermost one. */
function nested(path: readonly number[], content: Uint8Array): Uint8Array {
  return path.reduceRight(
    (inner, number) => new BinaryWriter().tag(number, 2).bytes(inner).finish(),
    content,
  );
}

function repeated(
  field: number,
  count: number,
  element: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const one = new BinaryWriter().tag(field, 2).bytes(element).finish();
  return Buffer.alloc(count * one.length, one);
}

const routes = (count: number): Json => ({
  name: 'r',
  virtual_hosts: [
    {
      name: 'all',
      domains: ['*'],
      routes: Array.from({ length: count }, (_, i) => ({
        match: { path: `/${i}` },
        route: { cluster: 'c' },
      })),
    },
  ],
});

const inline = (config: Json): Json => ({
  name: 'l',
  api_listener: {
    api_listener: {
      '@type':
        'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      route_config: config,
      http_filters: [
        {
          name: 'router',
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
          },
        },
      ],
    },
  },
});

describe('routes', () => {
  const routeConfig = (count: number) =>
    decode(types.routeConfig, encode(types.routeConfig, routes(count)));
  const listener = (count: number) =>
    decode(types.listener, encode(types.listener, inline(routes(count))));

  it.each([
    ['of a route configuration', routeConfig],
    ['inline in a listener', listener],
  ])('%s are decoded in parts, whose number grows with theirs', (_case, decodeOf) => {
    const [small, large] = [decodeOf(2000), decodeOf(4000)];
    expect([small.violations, large.violations]).toEqual([[], []]);
    expect(small.count).toBeGreaterThan(10);
    expect(large.count / small.count).toBeGreaterThan(1.9);
    expect(large.count / small.count).toBeLessThan(2.2);
  });

  it('of many virtual hosts are decoded in parts', () => {
    const { count, violations } = decode(types.routeConfig, repeated(2, 20_000));
    expect(count).toBeGreaterThan(1000);
    expect(violations).toHaveLength(101);
    expect(violations.at(-1)).toBe('and 19900 more violations');
  });

  it.each<[string, number[], number, string]>([
    ['virtual hosts', [], 2, 'virtual_hosts'],
    ['routes', [2], 3, 'virtual_hosts[0].routes'],
  ])(
    'of more %s than fields may be read are refused before any is decoded',
    (_case, path, field, at) => {
      const bytes = nested(path, repeated(field, LIST_LIMIT.maxFields + 1));
      const { violations, count } = decode(types.routeConfig, bytes);
      expect(violations).toContain(`${at}: more than 400000 fields in one list`);
      expect(count).toBe(0);
    },
  );

  it.each<[string, number[], number, string]>([
    ['domains', [2], 2, 'virtual_hosts[0].domains'],
    ['header matchers', [2, 3, 1], 6, 'virtual_hosts[0].routes[0].match.headers'],
    [
      'weighted clusters',
      [2, 3, 2, 3],
      1,
      'virtual_hosts[0].routes[0].route.weighted_clusters.clusters',
    ],
    ['hash policies', [2, 3, 2], 15, 'virtual_hosts[0].routes[0].route.hash_policy'],
    ['fields that are not known', [2, 3], 1999, 'virtual_hosts[0].routes[0]'],
  ])('with more %s than one message may have are refused', (_case, path, field, at) => {
    const bytes = nested(path, repeated(field, MESSAGE_LIMIT.maxFields + 1));
    expect(decode(types.routeConfig, bytes).violations).toContain(
      `${at}: more than 50000 fields in one message`,
    );
  });

  it('count against what the response has left', () => {
    const budget = new ReadBudget({ maxFields: 15_000, scope: 'response' });
    const bytes = encode(types.routeConfig, routes(1500));
    expect(decode(types.routeConfig, bytes, budget).violations).toEqual([]);
    expect(decode(types.routeConfig, bytes, budget).violations[0]).toContain(
      'more than 15000 fields in one response',
    );
  });
});

describe('other resources', () => {
  it.each<[string, ResourceType<unknown>, number[], number, string]>([
    ['aliases of a cluster', types.cluster, [], 1, 'name'],
    ['transport sockets', types.cluster, [], 43, 'transport_socket_matches'],
    ['fields of a listener', types.listener, [], 1999, ''],
    ['bits of metadata', types.cluster, [25], 1, 'metadata.filter_metadata'],
  ])('with more %s than one message may have are refused', (_case, type, path, field, at) => {
    const { violations } = decode(type, nested(path, repeated(field, MESSAGE_LIMIT.maxFields + 1)));
    const limit = 'more than 50000 fields in one message';
    expect(violations).toContain(at === '' ? limit : `${at}: ${limit}`);
  });
});

describe('a resource with more fields than one list may have', () => {
  it.each([
    ['virtual hosts', types.routeConfig, 20, 2_000_000],
    ['localities', types.endpoints, 40, 4_000_000],
  ])('is rejected for the fields of all its %s together', (_case, type, count, limit) => {
    const element = repeated(1999, MESSAGE_LIMIT.maxFields - 10);
    const judge = (elements: number) => decode(type, repeated(2, elements, element)).violations;
    expect(judge(count).join()).not.toContain('more than');
    expect(judge(count + 1).join()).toContain(`more than ${limit} fields in one resource`);
  });

  it('is rejected by its name', () => {
    const bytes = Buffer.concat([nested([1], Buffer.from('large')), repeated(2, 1_000_000)]);
    const context = { server: serverWith(), previous: () => undefined };
    const { name, result } = decodeWhole(types.routeConfig, bytes, context);
    expect(name).toBe('large');
    expect(result).toEqual({
      ok: false,
      error: ['virtual_hosts: more than 400000 fields in one list'],
    });
    expect(types.routeConfig.peekName(bytes)).toBe('large');
  });
});

describe('what costs more than its fields', () => {
  const route = (match: Json, action: Json = {}): Json => ({
    name: 'r',
    virtual_hosts: [
      { name: 'v', domains: ['*'], routes: [{ match, route: { cluster: 'c', ...action } }] },
    ],
  });
  const headers = (count: number, matcher: (index: number) => Json): Json => ({
    prefix: '/',
    headers: Array.from({ length: count }, (_, i) => ({ name: 'x', string_match: matcher(i) })),
  });
  const judge = (json: Json) =>
    decode(types.routeConfig, encode(types.routeConfig, json)).violations;

  it('texts count by their length too, so that those of one message have some 3 MB', () => {
    const texts = (count: number) =>
      judge(route(headers(count, () => ({ exact: 'x'.repeat(1_000_000), ignore_case: true }))));
    expect(texts(3)).toEqual([]);
    expect(texts(4)).toEqual([
      'virtual_hosts[0].routes[0].match.headers.string_match.exact: more than 50000 fields in one message',
    ]);
  });

  it('regular expressions count as a hundred fields each', () => {
    const expressions = (count: number) =>
      judge(route(headers(count, (i) => ({ safe_regex: { regex: `a${i}` } }))));
    expect(expressions(450)).toEqual([]);
    expect(expressions(1000)[0]).toMatch(
      /^virtual_hosts\[0\]\.routes\[0\]\.match\.headers\[4\d\d\]\.string_match\.safe_regex\.regex: more than 50000 fields in one message, of which the expression counts as 100$/,
    );
  });

  it('expressions of many routes are in as many messages', () => {
    const many = Array.from({ length: 1000 }, (_, i) => ({
      match: { safe_regex: { regex: `/a${i}` } },
      route: { cluster: 'c' },
    }));
    expect(
      judge({ name: 'r', virtual_hosts: [{ name: 'v', domains: ['*'], routes: many }] }),
    ).toEqual([]);
  });

  it('a route has at most 256 hash policies, which each call reads', () => {
    const policies = (count: number) =>
      judge(
        route(
          { prefix: '/' },
          { hash_policy: Array(count).fill({ header: { header_name: 'x' } }) },
        ),
      );
    expect(policies(256)).toEqual([]);
    expect(policies(257)).toEqual([
      'virtual_hosts[0].routes[0].route.hash_policy: must not have more than 256 entries, but has 257',
    ]);
  });
});

describe('lists that cost more than their fields', () => {
  it.each([
    [1000, []],
    [
      1001,
      [
        'virtual_hosts[0].typed_per_filter_config: must not have more than 1000 entries, but has 1001',
      ],
    ],
  ])('%i overrides of filters', (count, expected) => {
    const override = {
      '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig',
      disabled: true,
    };
    const overrides = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`f${i}`, override]),
    );
    const config = {
      name: 'r',
      virtual_hosts: [{ name: 'v', domains: ['*'], typed_per_filter_config: overrides }],
    };
    expect(decode(types.routeConfig, encode(types.routeConfig, config)).violations).toEqual(
      expected,
    );
  });

  it('a chain of 1001 filters is refused', () => {
    const filters = Array.from({ length: 1001 }, (_, i) => ({ name: `f${i}`, is_optional: true }));
    const listener = inline(routes(1));
    const manager = {
      '@type':
        'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      rds: { route_config_name: 'r', config_source: { ads: {} } },
      http_filters: filters,
    };
    const violations = violationsOf(types.listener, {
      ...listener,
      api_listener: { api_listener: manager },
    });
    expect(violations).toEqual([
      'api_listener.api_listener.http_filters: must not have more than 1000 entries, but has 1001',
    ]);
  });

  it('a retry_on of 8,193 characters is refused', () => {
    const config = {
      name: 'r',
      virtual_hosts: [
        { name: 'v', domains: ['*'], retry_policy: { retry_on: ','.repeat(8193) }, routes: [] },
      ],
    };
    expect(violationsOf(types.routeConfig, config)).toEqual([
      'virtual_hosts[0].retry_policy.retry_on: must not exceed 8192 characters, but has 8193',
    ]);
  });
});
