import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Snapshot, type Servers } from '../../src/control-plane';
import { registerAuditLogger } from '../../src/server';
import { authorize, type AuthorizationPolicy, type RequestToAuthorize } from '../../src/testing';
import { anything, inNamespace, rbacJson, withIdentity } from '../support/rbac-json';

const web = 'spiffe://example.org/ns/default/sa/web';

const policy: AuthorizationPolicy = {
  name: 'shop',
  deny_rules: [{ name: 'no-debug', request: { paths: ['/shop.Debug/*'] } }],
  allow_rules: [
    {
      name: 'web',
      source: { principals: [web] },
      request: { paths: ['/shop.*'], headers: [{ key: 'x-tier', values: ['gold', 'silver'] }] },
    },
  ],
};

const cart: RequestToAuthorize = {
  path: '/shop.Cart/Get',
  from: web,
  headers: { 'X-Tier': 'gold' },
};

/** What differs from a request; `undefined` is left out of it. */
type Change = {
  readonly [Name in keyof RequestToAuthorize]?: RequestToAuthorize[Name] | undefined;
};

function changed({ path = cart.path, ...rest }: Change): RequestToAuthorize {
  const members = Object.entries(rest).filter(([, value]) => value !== undefined);
  return { path, ...Object.fromEntries(members) };
}

const anonymous: Change = { from: undefined };

describe('authorize with a policy', () => {
  it('says which rule allows a request', () => {
    expect(authorize(policy, cart)).toMatchObject({
      allowed: true,
      outcome: 'allowed',
      policy: 'shop',
      rule: 'shop_web',
      status: undefined,
      listener: undefined,
      reason: '"shop" allows it: it matches the policy "shop_web"',
    });
  });

  it('refuses a file with rules that are there twice, of which only the last would count', () => {
    const folder = mkdtempSync(join(tmpdir(), 'policy-'));
    const path = join(folder, 'policy.json');
    const rule = JSON.stringify(policy.deny_rules);
    const text = `{"name":"a: \\"b\\":","deny_rules":${rule},"allow_rules":[{"name":"all"}]`;
    writeFileSync(path, `${text}}`);
    expect(authorize(path, cart)).toMatchObject({ allowed: true });
    writeFileSync(path, `${text},"deny_rules":[]}`);
    expect(() => authorize(path, cart)).toThrow('a member of an object is there more than once');
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['content-type', 'application/grpc', {}],
    ['content-type', 'application/grpc', { 'content-type': 'text/html' }],
    ['x-a', '1, 2', { 'x-a': '1', 'X-A': '2' }],
  ])('has the header %s as %p, as a server receives it', (key, value, headers) => {
    const denied: AuthorizationPolicy = {
      name: 'shop',
      deny_rules: [{ name: 'header', request: { headers: [{ key, values: [value] }] } }],
      allow_rules: [{ name: 'all' }],
    };
    expect(authorize(denied, { path: '/a.B/C', headers })).toMatchObject({
      allowed: false,
      rule: 'shop_header',
    });
  });

  it('says which rule denies a request, and tells the client nothing', () => {
    const result = authorize(policy, { ...cart, path: '/shop.Debug/Dump' });
    expect(result).toMatchObject({
      allowed: false,
      outcome: 'denied',
      policy: 'shop',
      rule: 'shop_no-debug',
      status: { code: 'PERMISSION_DENIED', details: 'unauthorized RPC request rejected' },
    });
    expect(String(result).split('\n')).toEqual([
      'filter "shop", DENY: refuses',
      '  policy "shop_no-debug": matches',
      'denied with PERMISSION_DENIED: denied by "shop": it matches the policy "shop_no-debug"',
    ]);
  });

  it.each<[string, Change, string]>([
    [
      'another client',
      { from: 'spiffe://example.org/ns/default/sa/job' },
      'principal "spiffe://example.org/ns/default/sa/job" is not exact "spiffe://example.org/ns/default/sa/web"',
    ],
    ['plain text', anonymous, 'the connection is plain text, on which no principal matches'],
    [
      'no certificate',
      { ...anonymous, tls: true },
      'the client has no certificate, so that its principal is empty, and not exact "spiffe://example.org/ns/default/sa/web"',
    ],
    [
      'a header with another value',
      { headers: { 'x-tier': 'bronze' } },
      'header x-tier is "bronze", which does not satisfy exact "gold"; and ' +
        'header x-tier is "bronze", which does not satisfy exact "silver"',
    ],
    [
      'no header',
      { headers: {} },
      'header x-tier is absent, which does not satisfy exact "gold"; and ' +
        'header x-tier is absent, which does not satisfy exact "silver"',
    ],
    ['another path', { path: '/pay.Bank/Pay' }, 'path "/pay.Bank/Pay" is not prefix "/shop."'],
  ])('says why the rule does not match: %s', (_text, change, mismatch) => {
    const result = authorize(policy, changed({ ...cart, ...change }));
    expect(result.allowed).toBe(false);
    expect(result.filters.at(-1)).toEqual({
      name: 'shop',
      action: 'allow',
      isPassed: false,
      rules: [{ name: 'shop_web', mismatch }],
    });
    expect(result.rule).toBeUndefined();
  });

  it('audits nothing', () => {
    const log = jest.fn();
    registerAuditLogger({ name: 'test.Audit', parseConfig: () => ({}), create: () => ({ log }) });
    const audit_logging_options = {
      audit_condition: 'ON_DENY_AND_ALLOW',
      audit_loggers: [{ name: 'test.Audit' }],
    } as const;
    expect(authorize({ ...policy, audit_logging_options }, cart).allowed).toBe(true);
    expect(log).not.toHaveBeenCalled();
  });

  it('is refused of a policy that a server would refuse', () => {
    const wrong = { name: 'shop', allow_rules: [{ name: 'web', sauce: {} }] };
    expect(() => authorize(wrong, cart)).toThrow(
      'grpc-xds: authorize(): the policy cannot be used: allow_rules[0]: unknown field "sauce"',
    );
  });
});

describe('authorize with an RBAC filter', () => {
  const rules = {
    policies: {
      p: {
        permissions: [{ destination_port: 50051 }],
        principals: [
          { not_id: { direct_remote_ip: { address_prefix: '10.0.0.0', prefix_len: 8 } } },
        ],
      },
    },
  };

  it.each<[string, Partial<RequestToAuthorize>, string | undefined]>([
    ['from elsewhere', {}, undefined],
    [
      'from the range',
      { remote: '10.1.2.3:1' },
      'what is excluded matches: remote address in 10.0.0.0/8',
    ],
    ['to another port', { address: '127.0.0.1:80' }, 'port 80 is not 50051'],
  ])('judges a request %s', (_text, change, mismatch) => {
    const result = authorize({ rules }, { path: '/a.B/C', ...change });
    expect(result).toMatchObject({
      allowed: mismatch === undefined,
      filters: [{ name: 'rbac', action: 'allow', rules: [{ name: 'p', mismatch }] }],
    });
  });

  it('allows everything without rules', () => {
    const type = 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC';
    expect(authorize({ '@type': type }, { path: '/a.B/C' })).toMatchObject({
      allowed: true,
      reason: 'no filter restricts who may make which calls',
    });
  });

  it.each<[string, object, string]>([
    ['the schema does not have', { rules: { polizies: {} } }, 'polizies'],
    [
      'a server rejects',
      { rules: { policies: { p: { permissions: [], principals: [{ any: true }] } } } },
      'a server rejects the RBAC filter (NACK): ',
    ],
  ])('is refused of a config that %s', (_text, json, problem) => {
    expect(() => authorize(json, { path: '/a.B/C' })).toThrow(problem);
  });
});

describe('authorize with Listeners', () => {
  const address = '10.244.0.2:50051';
  const client = 'spiffe://cluster.local/ns/default/sa/client';
  const fixture = (name: string): object => {
    const path = join(__dirname, '..', 'fixtures', 'istiod', `inbound-${name}.json`);
    // Istiod's encoder writes wrappers as messages.
    const text = readFileSync(path, 'utf8').replace(/\{\s*"value": (true|\d+)\s*\}/g, '$1');
    return JSON.parse(text) as object;
  };
  const servers = (security: Servers[string]): Snapshot =>
    Snapshot.forServers({ [address]: security });

  it('judges by what istiod has sent', () => {
    const request = { path: '/bench.Echo/Echo', from: client, headers: { 'x-tier': 'gold' } };
    expect(authorize(fixture('policies'), request)).toMatchObject({
      allowed: true,
      policy: 'envoy.filters.http.rbac',
      rule: 'default-allow-0',
      listener: `xds.istio.io/grpc/lds/inbound/${address}`,
      filterChain: { name: 'inbound-mtls', tls: 'TLS, client certificate required' },
      virtualHost: '',
      route: 0,
      routes: [{ index: 0, mismatch: undefined }],
      filters: [
        { name: 'envoy.filters.http.rbac.DENY', isPassed: true, action: 'deny' },
        { name: 'envoy.filters.http.rbac', isPassed: true, action: 'allow' },
      ],
    });
    const evil = 'spiffe://cluster.local/ns/evil/sa/client';
    expect(authorize(fixture('policies'), { ...request, from: evil })).toMatchObject({
      allowed: false,
      policy: 'envoy.filters.http.rbac.DENY',
      rule: 'default-deny-0',
    });
  });

  it('judges by a snapshot of the embedded control plane', () => {
    const snapshot = servers({
      mtls: 'STRICT',
      httpFilters: [
        rbacJson({
          'default-web-0': { permissions: [anything], principals: [inNamespace('web')] },
        }),
      ],
    });
    const from = (namespace: string) => `spiffe://cluster.local/ns/${namespace}/sa/a`;
    expect(authorize(snapshot, { path: '/a.B/C', from: from('web') }).allowed).toBe(true);
    const denied = authorize(snapshot, { path: '/a.B/C', from: from('job') });
    expect(String(denied).split('\n')).toEqual([
      'Listener "xds.istio.io/grpc/lds/inbound/10.244.0.2:50051"',
      'filter chain "inbound-mtls": TLS, client certificate required',
      'virtual host ""',
      '  route 0: matches',
      'filter "envoy.filters.http.rbac", ALLOW: refuses',
      '  policy "default-web-0": principal "spiffe://cluster.local/ns/job/sa/a" is not regex .*/ns/web/.*',
      'denied with PERMISSION_DENIED: denied by "envoy.filters.http.rbac": it matches none of the policies that allow',
    ]);
  });

  it('closes the connection of a client without the certificate that is required', () => {
    expect(authorize(servers({ mtls: 'STRICT' }), { path: '/a.B/C' })).toMatchObject({
      allowed: false,
      outcome: 'closed',
      status: undefined,
      virtualHost: undefined,
      reason:
        'filter chain "inbound-mtls" requires a client certificate, and the client presents none',
    });
  });

  it('gives no identity to clients in plain text', () => {
    const snapshot = servers({
      mtls: 'PERMISSIVE',
      httpFilters: [
        rbacJson({
          a: { permissions: [anything], principals: [withIdentity('cluster.local/ns/a/sa/a')] },
        }),
      ],
    });
    const request = { path: '/a.B/C', from: 'spiffe://cluster.local/ns/a/sa/a' };
    const result = authorize(snapshot, request);
    expect(result.allowed).toBe(false);
    expect(result.notes).toEqual([
      'the filter chain has no TLS, so that the client has no identity, unless the fallback credentials of the server are TLS',
    ]);
  });

  const ranged = (address_prefix: string, prefix_len: number) => ({
    source_prefix_ranges: [{ address_prefix, prefix_len }],
  });
  const manager = {
    '@type':
      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    http_filters: [
      {
        name: 'router',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
        },
      },
    ],
  };
  const rds = { rds: { route_config_name: 'r', config_source: { ads: {} } } };
  const chain = (name: string, filter_chain_match: object, more: object = rds) => ({
    name,
    filter_chain_match,
    filters: [{ name: 'hcm', typed_config: { ...manager, ...more } }],
  });
  const listener = (chains: readonly object[], at = '0.0.0.0', port_value = 8080) => ({
    name: `l-${at}`,
    address: { socket_address: { address: at, port_value } },
    filter_chains: chains,
  });
  const chains = [
    chain('inner', ranged('10.0.0.0', 8)),
    chain('host', ranged('10.0.0.1', 32)),
    chain('never', { destination_port: 8080 }),
  ];
  const hosts = {
    name: 'r',
    virtual_hosts: [
      {
        name: 'shop',
        domains: ['shop'],
        routes: [
          { name: 'cart', match: { prefix: '/shop.Cart/' }, non_forwarding_action: {} },
          { match: { prefix: '/shop.' }, route: { cluster: 'c' } },
        ],
      },
    ],
  };
  const resources = { listeners: [listener(chains)], routes: [hosts] };
  const get = { path: '/shop.Cart/Get', remote: '10.0.0.1:1', headers: { ':authority': 'SHOP' } };

  it('finds the filter chain, the virtual host and the route', () => {
    expect(authorize(resources, get)).toMatchObject({
      allowed: true,
      filterChain: {
        name: 'host',
        tls: 'plain text',
        reasons: ['source_prefix_ranges: 10.0.0.1/32 is the longest range with 10.0.0.1'],
      },
      virtualHost: 'shop',
      route: 0,
      reason: 'no filter restricts who may make which calls',
    });
  });

  it.each<[string, Partial<RequestToAuthorize>, object]>([
    [
      'no chain',
      { remote: '11.0.0.1:1' },
      {
        outcome: 'closed',
        reason:
          'no filter chain is for a connection from 11.0.0.1:1 to 127.0.0.1:8080, and there is no default_filter_chain; ' +
          'source_prefix_ranges: 11.0.0.1 is in none of the ranges; never used by a gRPC server: "never" (destination_port)',
      },
    ],
    [
      'no virtual host',
      { headers: {} },
      { outcome: 'failed', status: { code: 'UNAVAILABLE' }, virtualHost: undefined },
    ],
    [
      'no route',
      { path: '/pay.Bank/Pay' },
      {
        outcome: 'failed',
        virtualHost: 'shop',
        route: undefined,
        routes: [
          { mismatch: 'path is not prefix /shop.Cart/' },
          { mismatch: 'path is not prefix /shop.' },
        ],
      },
    ],
    ['an action of clients', { path: '/shop.Pay/Do' }, { outcome: 'failed', route: 1 }],
  ])('says what is missing: %s', (_text, change, expected) => {
    expect(authorize(resources, { ...get, ...change })).toMatchObject({
      allowed: false,
      ...expected,
    });
  });

  it('fails requests without their route configuration', () => {
    const result = authorize({ listeners: resources.listeners }, get);
    expect(result).toMatchObject({
      outcome: 'failed',
      reason: 'RouteConfiguration "r": not among the resources',
    });
  });

  it('selects the Listener by the address, the exact one before all addresses', () => {
    const all = [
      listener(chains),
      listener([chain('own', {})], '10.0.0.9'),
      listener([chain('v6', {})], '::'),
    ];
    const given = { listeners: all, routes: [hosts] };
    const nameAt = (address: string) => authorize(given, { ...get, address }).listener;
    expect(nameAt('10.0.0.9:8080')).toBe('l-10.0.0.9');
    expect(nameAt('10.0.0.8:8080')).toBe('l-0.0.0.0');
    expect(nameAt('[2001:db8::1]:8080')).toBe('l-::');
    expect(() => nameAt('10.0.0.9:1')).toThrow(
      'there is no Listener for 10.0.0.9:1 over TCP; there are those of 0.0.0.0:8080, 10.0.0.9:8080, [::]:8080',
    );
    expect(() => authorize(given, get)).toThrow('give the address of one');
  });

  it('takes a Listener alone, one whose port is every port, and a file', () => {
    const inline = chain('all', {}, { route_config: hosts });
    expect(authorize(listener([inline]), get).allowed).toBe(true);
    expect(authorize(listener([inline], '0.0.0.0', 0), get).allowed).toBe(true);
    const folder = mkdtempSync(join(tmpdir(), 'authorize-'));
    const write = (name: string, text: string): string => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    };
    try {
      expect(authorize(write('a.json', JSON.stringify(listener([inline]))), get).allowed).toBe(
        true,
      );
      expect(authorize(write('b.yaml', JSON.stringify(resources)), get).allowed).toBe(true);
      expect(authorize(write('c.json', JSON.stringify(resources)), get).allowed).toBe(true);
      expect(authorize(write('d.json', JSON.stringify(policy)), cart).allowed).toBe(true);
      expect(() => authorize(write('e.json', '{'), get)).toThrow('e.json: ');
      expect(() => authorize(write('f.json', '1'), get)).toThrow('expected an object');
      expect(() => authorize(join(folder, 'none.json'), get)).toThrow('none.json cannot be read');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is refused of a Listener that a server rejects', () => {
    const twice = [chain('a', {}), chain('b', {})];
    expect(() => authorize(listener(twice), get)).toThrow(
      'Listener "l-0.0.0.0": rejected (NACK): filter_chains[1].filter_chain_match: has the same matching criteria as filter_chains[0]',
    );
  });

  it('is refused of tls, which the Listener says', () => {
    expect(() => authorize(resources, { ...get, tls: true })).toThrow('tls is for a policy');
  });
});

describe('the arguments of authorize', () => {
  it.each<[readonly unknown[], string]>([
    [[1, cart], 'policy of authorize() must be an authorization policy'],
    [['', cart], 'policy of authorize() must be an authorization policy'],
    [[policy, { path: 'shop' }], 'path of authorize() must be the path of a method'],
    [[policy, { ...cart, remote: 'web:1' }], 'remote of authorize() must be an IP address'],
    [[policy, { ...cart, address: '1.2.3.4' }], 'address of authorize() must be an IP address'],
    [[policy, { ...cart, headers: { a: 1 } }], 'headers["a"] of authorize() must be a string'],
    [[policy, { ...cart, form: web }], 'unknown option "form"'],
    [[policy, { ...cart, tls: false }], 'has no names'],
  ])('are checked: %#', (args, problem) => {
    expect(() => Reflect.apply(authorize, undefined, args)).toThrow(problem);
  });
});
