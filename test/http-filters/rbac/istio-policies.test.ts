import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RbacConfig } from '../../../src/authorization/rules';
import type { ServerFilter } from '../../../src/http-filters/server-filter';
import type { ReferenceRequest } from '../../support/reference-authorization';
import type { Json } from '../../support/xds-json';
import { createRbacWorld, judgedAtOnce, requestOf, withUri } from '../../authorization/rbac-world';

const world = createRbacWorld();

/** Istiod's encoder writes a wrapper such as `UInt32Value`, and an Any of an unknown type, as messages. */
const unwrap = (_key: string, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if ('type_url' in value)
    return { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' };
  return 'value' in value && Object.keys(value).length === 1 ? value.value : value;
};

interface Filter {
  readonly name: string;
  readonly typed_config: Readonly<Record<string, Json>>;
}

/** The HTTP filters of a listener of istiod, without the router. */
function filtersOf(name: string): readonly Filter[] {
  const path = join(__dirname, '..', '..', 'fixtures', 'istiod', `inbound-${name}.json`);
  const [listener] = JSON.parse(readFileSync(path, 'utf8'), unwrap) as readonly {
    readonly filter_chains: readonly {
      readonly filters: readonly {
        readonly typed_config: { readonly http_filters: readonly Filter[] };
      }[];
    }[];
  }[];
  const all = listener?.filter_chains[0]?.filters[0]?.typed_config.http_filters ?? [];
  return all.filter((filter) => filter.name !== 'envoy.filters.http.router');
}

function parse({ typed_config: { '@type': type, ...json } }: Filter) {
  expect(type).toBe('type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC');
  return world.parse(json);
}

/** Runs a request through the filters. @returns the policy that denies it; `none` if no policy allows it. */
function createJudge(name: string): (request: Partial<ReferenceRequest>) => string {
  const filters: ServerFilter[] = [];
  for (const filter of filtersOf(name)) {
    const config = parse(filter);
    if (!(config instanceof RbacConfig)) throw new Error(config.join());
    const created = world.filter.createServerFilter(config, undefined, filter.name);
    if (created !== undefined) filters.push(created);
  }
  return (request) => {
    for (const filter of filters) {
      const refusal = judgedAtOnce(filter.onRequest(requestOf(request)));
      if (refusal !== undefined) return refusal.policy ?? 'none';
    }
    return 'allowed';
  };
}

const client = withUri('spiffe://cluster.local/ns/default/sa/client');
const remote = (address: string) => ({ remote: { address, port: 40_000 } });
const gold = {
  path: '/bench.Echo/Echo',
  headers: { 'x-tier': 'gold' },
  tls: client,
  ...remote('10.9.0.9'),
};

describe('inbound-policies: DENY before ALLOW (gRFC A41)', () => {
  const judge = createJudge('policies');

  // default-allow-0: principal of the client, not from the namespace bad, x-tier gold or sil*, POST /bench.Echo/* on 50051.
  // default-allow-1: from 10.244.0.0/16, not from 10.244.9.0/24, host echo.default*.
  // default-deny-0: namespace evil. default-deny-1: paths other than /bench.Echo/Echo with a JWT claim, of which gRPC has none.
  it.each<[string, Partial<ReferenceRequest>, string]>([
    ['the client with gold', gold, 'allowed'],
    ['the client with silver', { ...gold, headers: { 'x-tier': 'silver' } }, 'allowed'],
    ['the client with bronze', { ...gold, headers: { 'x-tier': 'bronze' } }, 'none'],
    ['the client without a tier', { ...gold, headers: {} }, 'none'],
    ['the client in plain text', { ...gold, tls: undefined }, 'none'],
    [
      'another client',
      { ...gold, tls: withUri('spiffe://cluster.local/ns/default/sa/other') },
      'none',
    ],
    ['another method of the service', { ...gold, path: '/bench.Echo/Other' }, 'allowed'],
    ['another service', { ...gold, path: '/bench.Other/Echo' }, 'none'],
    ['another port', { ...gold, local: { address: '10.244.0.2', port: 50_052 } }, 'none'],
    [
      'a client of evil',
      { ...gold, tls: withUri('spiffe://cluster.local/ns/evil/sa/client') },
      'default-deny-0',
    ],
    [
      'a client of evil from a good address',
      {
        tls: withUri('spiffe://cluster.local/ns/evil/sa/x'),
        headers: { ':authority': 'echo.default:50051' },
        ...remote('10.244.1.1'),
      },
      'default-deny-0',
    ],
    [
      'an address and the host',
      { headers: { ':authority': 'Echo.Default:50051' }, ...remote('10.244.1.1') },
      'allowed',
    ],
    [
      'a mapped address and the host',
      { headers: { ':authority': 'echo.default' }, ...remote('::ffff:10.244.1.1') },
      'allowed',
    ],
    [
      'an excluded address',
      { headers: { ':authority': 'echo.default' }, ...remote('10.244.9.1') },
      'none',
    ],
    [
      'an address and another host',
      { headers: { ':authority': 'other.default' }, ...remote('10.244.1.1') },
      'none',
    ],
  ])('%s: %s', (_what, request, expected) => {
    expect(judge(request)).toBe(expected);
  });
});

describe('inbound-sources', () => {
  const judge = createJudge('sources');

  // The permission demands the server name "x", which is empty in gRPC: nothing is allowed.
  it.each<[string, Partial<ReferenceRequest>]>([
    ['a service account', { tls: client, headers: { 'user-agent': 'x' } }],
    ['a client without a certificate', { tls: undefined, headers: { 'user-agent': 'x' } }],
  ])('allows nothing, since it names a server: %s', (_what, request) => {
    expect(judge(request)).toBe('none');
  });
});

describe('inbound-sources without the server name', () => {
  /** The principals alone. */
  function judge(request: Partial<ReferenceRequest>): string {
    const [filter] = filtersOf('sources');
    const text = JSON.stringify(filter?.typed_config).replace('"exact":"x"', '"exact":""');
    const json = Object.entries(JSON.parse(text) as Record<string, Json>);
    const config = world.parse(Object.fromEntries(json.filter(([field]) => field !== '@type')));
    if (!(config instanceof RbacConfig)) throw new Error(config.join());
    const created = world.filter.createServerFilter(config, undefined, 'rbac');
    const refusal = judgedAtOnce(created?.onRequest(requestOf(request)));
    return refusal === undefined ? 'allowed' : (refusal.policy ?? 'none');
  }

  const headers = { 'user-agent': 'grpc-node' };
  const sa = (path: string) => withUri(`spiffe://cluster.local/ns/${path}`);

  // The first source has request principals (JWT), the second the service account, the third no principal at all; each of them
  // excludes 10.9.0.1 and demands a user agent.
  it.each<[string, Partial<ReferenceRequest>, string]>([
    [
      'namespace a, whose JWT gRPC does not have',
      { headers, tls: sa('a/sa/x'), ...remote('10.1.0.1') },
      'none',
    ],
    ['the service account', { headers, tls: client }, 'allowed'],
    ['another service account', { headers, tls: sa('default/sa/other') }, 'none'],
    [
      'the service account from the excluded address',
      { headers, tls: client, ...remote('10.9.0.1') },
      'none',
    ],
    ['the service account without a user agent', { tls: client }, 'none'],
    ['plain text', { headers, tls: undefined }, 'allowed'],
    ['TLS without a certificate', { headers, tls: { peer: undefined } }, 'allowed'],
    [
      'plain text from the excluded address',
      { headers, tls: undefined, ...remote('10.9.0.1') },
      'none',
    ],
  ])('%s: %s', (_what, request, expected) => {
    expect(judge(request)).toBe(expected);
  });
});

it('inbound-deny-all denies everything', () => {
  const judge = createJudge('deny-all');
  expect(judge(gold)).toBe('default-deny-all-0');
  expect(judge({})).toBe('default-deny-all-0');
});

it('inbound-paths is rejected, since gRPC has no URI templates', () => {
  const [filter] = filtersOf('paths');
  if (filter === undefined) throw new Error('no filter');
  const [violation] = [parse(filter)].flat();
  expect(violation).toBe(
    'rules.policies["default-templates-0"].permissions[0].and_rules.rules[0].or_rules.rules[0].uri_template: ' +
      'unsupported: use and_rules, or_rules, any, header, url_path, destination_ip, destination_port, ' +
      'destination_port_range, metadata, not_rule or requested_server_name',
  );
});

it.each(['allow-nothing', 'audit'])(
  'inbound-%s has no filter, so that nothing is denied',
  (name) => {
    expect(filtersOf(name)).toEqual([]);
    expect(createJudge(name)({})).toBe('allowed');
  },
);
