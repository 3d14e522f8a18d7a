import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import type {
  Bootstrap,
  CertificateProviderConfig,
  CredentialConfig,
} from '../../src/bootstrap/bootstrap';
import type { Violations } from '../../src/util/violations';

const support = {
  channelCreds: new Set(['google_default', 'insecure', 'tls']),
  callCreds: new Set(['jwt_token_file']),
  certificateProviders: new Set(['file_watcher', 'x']),
};
const server = { server_uri: 'xds.test:443', channel_creds: [{ type: 'insecure' }] };

function parse(json: unknown): Bootstrap {
  const result = parseBootstrap(json, 'test', support);
  if (!result.ok) throw new Error(result.error.join('; '));
  return result.value;
}

function mistakes(json: unknown): readonly string[] {
  const result = parseBootstrap(json, 'test', support);
  return result.ok ? [] : result.error;
}

describe('parseBootstrap', () => {
  it('adds the defaults to a minimal bootstrap', () => {
    expect(parse({ xds_servers: [server] })).toEqual({
      source: 'test',
      servers: [
        {
          serverUri: 'xds.test:443',
          channelCreds: { type: 'insecure', config: undefined },
          callCreds: [],
          features: new Set(),
          key: '["xds.test:443",{"type":"insecure"},[],[]]',
        },
      ],
      node: { id: '', cluster: '', locality: undefined, metadata: undefined },
      authorities: new Map(),
      clientDefaultListenerResourceNameTemplate: '%s',
      certificateProviders: new Map(),
    });
  });

  it('reads every field', () => {
    const bootstrap = parse({
      xds_servers: [
        {
          server_uri: 'dns:///primary.test:443',
          channel_creds: [{ type: 'tls', config: { ca_certificate_file: '/ca.pem' } }],
          call_creds: [
            { type: 'oracle', config: 'anything' },
            { type: 'jwt_token_file', config: { jwt_token_file: '/token' } },
          ],
          server_features: ['xds_v3', 'ignore_resource_deletion'],
        },
        { server_uri: 'secondary.test:443', channel_creds: [{ type: 'insecure' }] },
      ],
      node: {
        id: 'node-1',
        cluster: 'shop',
        locality: { region: 'eu', zone: 'eu-1', sub_zone: 'a' },
        metadata: { A: 1 },
      },
      authorities: {
        'a.test': {
          client_listener_resource_name_template: 'xdstp://a.test/listeners/%s',
          xds_servers: [{ server_uri: 'a.test:1', channel_creds: [{ type: 'insecure' }] }],
          fallback_on_reachability_only: true,
        },
      },
      client_default_listener_resource_name_template: 'prefix/%s',
      certificate_providers: {
        default: { plugin_name: 'file_watcher', config: { certificate_file: '/cert.pem' } },
      },
    });
    expect(bootstrap.servers.map((each) => each.serverUri)).toEqual([
      'dns:///primary.test:443',
      'secondary.test:443',
    ]);
    expect(bootstrap.servers[0]).toMatchObject({
      channelCreds: { type: 'tls', config: { ca_certificate_file: '/ca.pem' } },
      callCreds: [{ type: 'jwt_token_file', config: { jwt_token_file: '/token' } }],
      features: new Set(['ignore_resource_deletion']),
    });
    expect(bootstrap.node).toEqual({
      id: 'node-1',
      cluster: 'shop',
      locality: { region: 'eu', zone: 'eu-1', subZone: 'a' },
      metadata: new Map([['A', 1]]),
    });
    expect(bootstrap.authorities.get('a.test')).toMatchObject({
      clientListenerResourceNameTemplate: 'xdstp://a.test/listeners/%s',
      servers: [{ serverUri: 'a.test:1' }],
      fallbackOnReachabilityOnly: true,
    });
    expect(bootstrap.clientDefaultListenerResourceNameTemplate).toBe('prefix/%s');
    expect(bootstrap.certificateProviders).toEqual(
      new Map([
        ['default', { pluginName: 'file_watcher', config: { certificate_file: '/cert.pem' } }],
      ]),
    );
  });

  it.each<[string, unknown, string[]]>([
    ['not an object', 'text', ['must be an object']],
    ['a list', [], ['must be an object']],
    ['null', null, ['must be an object']],
    ['no servers', {}, ['xds_servers: field not present']],
    ['servers that are null', { xds_servers: null }, ['xds_servers: field not present']],
    ['an empty list of servers', { xds_servers: [] }, ['xds_servers: must not be empty']],
    ['servers of a wrong type', { xds_servers: server }, ['xds_servers: must be a list']],
    [
      'an empty server',
      { xds_servers: [{}] },
      [
        'xds_servers[0].server_uri: field not present',
        'xds_servers[0].channel_creds: field not present',
      ],
    ],
    [
      'a server that is not an object',
      { xds_servers: [server, 7] },
      ['xds_servers[1]: must be an object'],
    ],
    [
      'a server URI of a wrong type',
      { xds_servers: [{ ...server, server_uri: 15010 }] },
      ['xds_servers[0].server_uri: must be a string'],
    ],
    [
      'an empty server URI',
      { xds_servers: [{ ...server, server_uri: '' }] },
      ['xds_servers[0].server_uri: must not be empty'],
    ],
    [
      'a server that would be found by way of itself',
      { xds_servers: [{ ...server, server_uri: 'xds:///control-plane' }] },
      ['xds_servers[0].server_uri: must not be an xds: target'],
    ],
    [
      'no credentials',
      { xds_servers: [{ ...server, channel_creds: [] }] },
      ['xds_servers[0].channel_creds: must not be empty'],
    ],
    [
      'credentials of unknown types only',
      { xds_servers: [{ ...server, channel_creds: [{ type: 'alts' }, { type: 'local' }] }] },
      [
        'xds_servers[0].channel_creds: none of the types "alts", "local" is supported; ' +
          'supported are "google_default", "insecure", "tls"',
      ],
    ],
    [
      'credentials without a type',
      { xds_servers: [{ ...server, channel_creds: [{ config: {} }, 'insecure'] }] },
      [
        'xds_servers[0].channel_creds[0].type: field not present',
        'xds_servers[0].channel_creds[1]: must be an object',
      ],
    ],
    [
      'a configuration of credentials that is not an object',
      { xds_servers: [{ ...server, channel_creds: [{ type: 'tls', config: '/ca.pem' }] }] },
      ['xds_servers[0].channel_creds[0].config: must be an object'],
    ],
    [
      'call credentials of a wrong type',
      { xds_servers: [{ ...server, call_creds: 'jwt' }] },
      ['xds_servers[0].call_creds: must be a list'],
    ],
    [
      'features of a wrong type',
      { xds_servers: [{ ...server, server_features: 'xds_v3' }] },
      ['xds_servers[0].server_features: must be a list'],
    ],
    ['a node of a wrong type', { xds_servers: [server], node: 'me' }, ['node: must be an object']],
    [
      'a node with members of wrong types',
      { xds_servers: [server], node: { id: 1, cluster: [], locality: 'eu', metadata: [] } },
      [
        'node.metadata: must be an object',
        'node.id: must be a string',
        'node.cluster: must be a string',
        'node.locality: must be an object',
      ],
    ],
    [
      'a locality with members of wrong types',
      { xds_servers: [server], node: { locality: { region: 1, zone: 2, sub_zone: 3 } } },
      [
        'node.locality.region: must be a string',
        'node.locality.zone: must be a string',
        'node.locality.sub_zone: must be a string',
      ],
    ],
    [
      'authorities of a wrong type',
      { xds_servers: [server], authorities: [] },
      ['authorities: must be an object'],
    ],
    [
      'an authority with members of wrong types',
      {
        xds_servers: [server],
        authorities: {
          a: {
            client_listener_resource_name_template: 7,
            xds_servers: {},
            fallback_on_reachability_only: 'yes',
          },
          b: 'b',
        },
      },
      [
        'authorities["a"].xds_servers: must be a list',
        'authorities["a"].client_listener_resource_name_template: must be a string',
        'authorities["a"].fallback_on_reachability_only: must be a boolean',
        'authorities["b"]: must be an object',
      ],
    ],
    [
      'a template that leads to another authority',
      {
        xds_servers: [server],
        authorities: {
          'a.test': { client_listener_resource_name_template: 'xdstp://b.test/%s' },
          'a.te': { client_listener_resource_name_template: 'xdstp://a.test/%s' },
        },
      },
      [
        'authorities["a.test"].client_listener_resource_name_template: must start with xdstp://a.test/',
        'authorities["a.te"].client_listener_resource_name_template: must start with xdstp://a.te/',
      ],
    ],
    [
      'an empty default template',
      { xds_servers: [server], client_default_listener_resource_name_template: '' },
      ['client_default_listener_resource_name_template: must not be empty'],
    ],
    [
      'certificate providers with mistakes',
      {
        xds_servers: [server],
        certificate_providers: { a: {}, b: { plugin_name: 'x', config: 1 }, c: null, d: [] },
      },
      [
        'certificate_providers["a"].plugin_name: field not present',
        'certificate_providers["b"].config: must be an object',
        'certificate_providers["d"]: must be an object',
      ],
    ],
  ])('rejects %s', (_what, json, expected) => {
    expect(mistakes(json)).toEqual(expected);
  });

  it('reports the violations of all parts', () => {
    expect(
      mistakes({
        xds_servers: [server, { server_uri: 1, channel_creds: 'x' }],
        node: 1,
        authorities: { a: 1 },
        client_default_listener_resource_name_template: 1,
        certificate_providers: 1,
      }),
    ).toEqual([
      'xds_servers[1].server_uri: must be a string',
      'xds_servers[1].channel_creds: must be a list',
      'node: must be an object',
      'authorities["a"]: must be an object',
      'client_default_listener_resource_name_template: must be a string',
      'certificate_providers: must be an object',
    ]);
  });

  it('ignores unknown and misspelt members everywhere', () => {
    const extra = { unknown: { deep: [1] }, xds_server: [], Node: 1, sever_features: 1 };
    const bootstrap = parse({
      ...extra,
      xds_servers: [{ ...extra, ...server, channel_creds: [{ ...extra, type: 'insecure' }] }],
      node: { ...extra, id: 'n', user_agent_name: 'liar', locality: { ...extra, zone: 'z' } },
      authorities: { a: extra },
      certificate_providers: { p: { ...extra, plugin_name: 'x' } },
    });
    expect(bootstrap.node).toEqual({
      id: 'n',
      cluster: '',
      locality: { region: '', zone: 'z', subZone: '' },
      metadata: undefined,
    });
  });

  it('treats null as absent', () => {
    expect(
      parse({
        xds_servers: [{ ...server, call_creds: null, server_features: null }],
        node: null,
        authorities: null,
        client_default_listener_resource_name_template: null,
        certificate_providers: null,
      }),
    ).toEqual(parse({ xds_servers: [server] }));
  });

  it('uses the first credentials of a supported type', () => {
    const channel_creds = [
      { type: 'alts', config: 'not judged' },
      { type: 'tls', config: {} },
      { type: 'insecure' },
    ];
    expect(parse({ xds_servers: [{ ...server, channel_creds }] }).servers[0]?.channelCreds).toEqual(
      { type: 'tls', config: {} },
    );
  });

  it('validates the configuration of credentials by their type', () => {
    const check = (credential: CredentialConfig, violations: Violations) => {
      violations.at('file').add(`not for ${credential.type}`);
    };
    const channelCreds = { has: () => true, keys: () => [], check };
    const result = parseBootstrap(
      { xds_servers: [{ ...server, channel_creds: [{ type: 'x', config: {} }] }] },
      'test',
      { ...support, channelCreds },
    );
    expect(result).toEqual({
      ok: false,
      error: ['xds_servers[0].channel_creds[0].config.file: not for x'],
    });
  });

  it('ignores unknown server features', () => {
    const server_features = ['xds_v3', 1, null, { b: 1 }, ['c'], 'grpc_xds_delta', 'toString'];
    expect(parse({ xds_servers: [{ ...server, server_features }] }).servers[0]?.features).toEqual(
      new Set(['grpc_xds_delta']),
    );
  });

  it('does not read channel credentials after the first that is supported (gRFC A27)', () => {
    const unused = [{ type: '' }, { type: 'tls', config: 7 }, 'tls'];
    const channel_creds = [{ type: 'alts', config: 7 }, { type: 'insecure' }, ...unused];
    const [parsed] = parse({ xds_servers: [{ ...server, channel_creds }] }).servers;
    expect(parsed?.channelCreds).toEqual({ type: 'insecure', config: undefined });
    expect(mistakes({ xds_servers: [{ ...server, channel_creds: unused }] })).toEqual([
      'xds_servers[0].channel_creds[0].type: must not be empty',
      'xds_servers[0].channel_creds[1].config: must be an object',
    ]);
  });

  it('rejects a passthrough: URI without an address', () => {
    for (const server_uri of ['passthrough:', 'passthrough:///', 'passthrough://a/']) {
      expect(mistakes({ xds_servers: [{ ...server, server_uri }] })).toEqual([
        'xds_servers[0].server_uri: must have an address',
      ]);
    }
  });

  describe('with a feature off', () => {
    const other = { ...server, server_uri: 'other.test:443' };
    const json = {
      xds_servers: [server, other],
      authorities: { a: { xds_servers: [other, server], fallback_on_reachability_only: true } },
      client_default_listener_resource_name_template:
        'xdstp://a/envoy.config.listener.v3.Listener/%s',
    };
    const allOn = { federation: true, fallback: true, endpointFallback: true };
    const parseWith = (changed: Partial<typeof allOn>) => {
      const result = parseBootstrap(json, 'test', support, { ...allOn, ...changed });
      if (!result.ok) throw new Error(result.error.join('; '));
      return result.value;
    };

    it('ignores authorities without federation (gRFC A47)', () => {
      expect(parseWith({}).authorities.size).toBe(1);
      expect(parseWith({ federation: false })).toMatchObject({
        authorities: new Map(),
        clientDefaultListenerResourceNameTemplate: '%s',
      });
    });

    it('uses the first server of each list without fallback (gRFC A71)', () => {
      expect(parseWith({}).servers).toHaveLength(2);
      const { servers, authorities } = parseWith({ fallback: false });
      expect(servers.map(({ serverUri }) => serverUri)).toEqual(['xds.test:443']);
      const own = authorities.get('a')?.servers.map(({ serverUri }) => serverUri);
      expect(own).toEqual(['other.test:443']);
    });

    it('ignores fallback_on_reachability_only without endpoint fallback (gRFC A95)', () => {
      const isEarly = (bootstrap: Bootstrap) =>
        bootstrap.authorities.get('a')?.fallbackOnReachabilityOnly;
      expect(isEarly(parseWith({}))).toBe(true);
      expect(isEarly(parseWith({ endpointFallback: false }))).toBe(false);
      expect(parseWith({ endpointFallback: false }).servers).toHaveLength(2);
    });
  });

  it('lists a server once', () => {
    const other = { ...server, server_uri: 'other.test:443' };
    expect(
      parse({ xds_servers: [server, other, server] }).servers.map((each) => each.serverUri),
    ).toEqual(['xds.test:443', 'other.test:443']);
  });

  it('ignores certificate providers of unknown plugins, and logs it', () => {
    const { certificateProviders, warnings } = parse({
      xds_servers: [server],
      certificate_providers: {
        a: { plugin_name: 'unheard_of', config: { b: 1 } },
        b: { plugin_name: 'x', config: { b: 1 } },
      },
    });
    expect(certificateProviders).toEqual(new Map([['b', { pluginName: 'x', config: { b: 1 } }]]));
    expect(warnings).toEqual([
      'certificate_providers["a"] is ignored: plugin "unheard_of" is not registered',
    ]);
  });

  it('lets the plugins judge the configs of their certificate providers', () => {
    const check = (_instance: CertificateProviderConfig, violations: Violations) =>
      violations.at('file').add('must be there');
    const certificateProviders = { has: (name: string) => name === 'x', check };
    const instance = { plugin_name: 'x', config: {} };
    const json = {
      xds_servers: [server],
      certificate_providers: {
        a: instance,
        b: { ...instance, plugin_name: 'y' },
        c: { ...instance, config: 1 },
      },
    };
    expect(parseBootstrap(json, 'test', { ...support, certificateProviders })).toEqual({
      ok: false,
      error: [
        'certificate_providers["a"].config.file: must be there',
        'certificate_providers["c"].config: must be an object',
      ],
    });
  });

  it('uses the top-level servers and a default template for an authority without them', () => {
    const { authorities, servers } = parse({
      xds_servers: [server],
      authorities: { 'a.test': {}, 'b/c d': { xds_servers: [] }, '': {} },
    });
    expect(authorities.get('a.test')).toEqual({
      clientListenerResourceNameTemplate: 'xdstp://a.test/envoy.config.listener.v3.Listener/%s',
      servers,
      fallbackOnReachabilityOnly: false,
    });
    expect(authorities.get('b/c d')).toEqual({
      clientListenerResourceNameTemplate: 'xdstp://b%2Fc%20d/envoy.config.listener.v3.Listener/%s',
      servers,
      fallbackOnReachabilityOnly: false,
    });
    expect(authorities.get('')?.clientListenerResourceNameTemplate).toBe(
      'xdstp:///envoy.config.listener.v3.Listener/%s',
    );
  });

  it('treats names like __proto__ and constructor as names', () => {
    const text = `{
      "xds_servers": [${JSON.stringify(server)}],
      "node": { "id": "n", "metadata": { "__proto__": 1, "constructor": { "__proto__": [2] } } },
      "authorities": { "__proto__": {}, "constructor": {} },
      "certificate_providers": { "__proto__": { "plugin_name": "x" } },
      "__proto__": { "client_default_listener_resource_name_template": "polluted" }
    }`;
    const bootstrap = parse(JSON.parse(text));
    expect([...bootstrap.authorities.keys()]).toEqual(['__proto__', 'constructor']);
    expect([...bootstrap.certificateProviders.keys()]).toEqual(['__proto__']);
    expect([...(bootstrap.node.metadata?.keys() ?? [])]).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(bootstrap.node.metadata?.get('constructor'))).toBe('{"__proto__":[2]}');
    expect(bootstrap.clientDefaultListenerResourceNameTemplate).toBe('%s');
  });

  it('passes node metadata on unchanged', () => {
    const metadata = {
      GENERATOR: 'grpc',
      MESH_ID: null,
      PROXY_CONFIG: { concurrency: 2, tracing: { zipkin: {} }, ratio: 0.5, on: true },
      OWNERS: ['a', 1, false, null, { b: [] }],
    };
    expect(parse({ xds_servers: [server], node: { metadata } }).node.metadata).toEqual(
      new Map(Object.entries(metadata)),
    );
  });

  it('does not exhaust the stack with metadata that is nested too deeply', () => {
    const metadata = JSON.parse(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`);
    expect(mistakes({ xds_servers: [server], node: { metadata } })).toEqual([
      'node.metadata: must be JSON of at most 200 levels',
    ]);
  });

  it('accepts the other spelling of a sub-zone', () => {
    expect(
      parse({ xds_servers: [server], node: { locality: { subZone: 's' } } }).node.locality,
    ).toEqual({ region: '', zone: '', subZone: 's' });
  });
});

describe('a server that does not speak gRPC', () => {
  const parseServer = (extra: object) => parse({ xds_servers: [extra] }).servers[0];

  it.each([
    ['file:///etc/xds/resources.yaml', 'insecure'],
    ['http://control-plane:8080', 'insecure'],
    ['https://control-plane/prefix', 'tls'],
  ])('%s needs no credentials', (server_uri, type) => {
    expect(parseServer({ server_uri })).toMatchObject({
      serverUri: server_uri,
      channelCreds: { type, config: undefined },
      fetch: { refreshDelayMs: 10_000, requestTimeoutMs: 10_000, ignoreUnknownFields: false },
    });
  });

  it('has the fetch options of its entry', () => {
    expect(
      parseServer({
        server_uri: 'https://control-plane',
        channel_creds: [{ type: 'tls', config: { ca_certificate_file: '/ca.pem' } }],
        refresh_delay: '2.5s',
        request_timeout: '1s',
        ignore_unknown_fields: true,
      }),
    ).toMatchObject({
      channelCreds: { type: 'tls', config: { ca_certificate_file: '/ca.pem' } },
      fetch: { refreshDelayMs: 2500, requestTimeoutMs: 1000, ignoreUnknownFields: true },
    });
  });

  it('is another server with other fetch options', () => {
    const keys = ['1s', '2s'].map(
      (refresh_delay) => parseServer({ server_uri: 'http://a', refresh_delay })?.key,
    );
    expect(new Set(keys).size).toBe(2);
  });

  it('does not affect servers that speak gRPC', () => {
    expect(parseServer({ ...server, refresh_delay: 7 })).toMatchObject({ fetch: undefined });
  });

  it.each<[string, object, string[]]>([
    ['a relative path', { server_uri: 'file:a.yaml' }, ['must be "file://" and an absolute path']],
    ['a host', { server_uri: 'file://host/a.yaml' }, ['must be "file://" and an absolute path']],
    ['a query', { server_uri: 'http://a/?b' }, ['must be a URL without "?" and "#"']],
    ['a password', { server_uri: 'http://a:b@c' }, ['must be a URL without user and password']],
    ['no host', { server_uri: 'http://' }, ['must be a URL: Invalid URL']],
  ])('has a URI that cannot be meant: %s', (_what, entry, reasons) => {
    expect(mistakes({ xds_servers: [entry] })).toEqual(
      reasons.map((reason) => `xds_servers[0].server_uri: ${reason}`),
    );
  });

  it('is rejected with invalid fetch options', () => {
    const entry = { server_uri: 'http://a', refresh_delay: '0s', request_timeout: 5 };
    expect(mistakes({ xds_servers: [{ ...entry, ignore_unknown_fields: 'no' }] })).toEqual([
      'xds_servers[0].refresh_delay: must be a duration above zero, such as "10s"',
      'xds_servers[0].request_timeout: must be a duration above zero, such as "10s"',
      'xds_servers[0].ignore_unknown_fields: must be a boolean',
    ]);
  });

  it.each([
    ['http://a', 'tls', 'type "tls" needs an https: URI'],
    ['https://a', 'insecure', 'type "insecure" needs an http: URI'],
  ])('%s cannot be reached with credentials of type %s', (server_uri, type, reason) => {
    expect(mistakes({ xds_servers: [{ server_uri, channel_creds: [{ type }] }] })).toEqual([
      `xds_servers[0].channel_creds: ${reason}`,
    ]);
  });
});

describe('the key of a server', () => {
  const key = (extra: object) => parse({ xds_servers: [{ ...server, ...extra }] }).servers[0]?.key;

  it('does not depend on the order of features or members, nor on unused ones', () => {
    const a = {
      channel_creds: [{ type: 'tls', config: { a: 1, b: { c: [1, 2], d: null } } }],
      server_features: ['grpc_xds_delta', 'trusted_xds_server', 3],
      unknown: 1,
    };
    const b = {
      channel_creds: [
        { type: 'alts' },
        { config: { b: { d: null, c: [1, 2] }, a: 1 }, type: 'tls' },
        { type: 'insecure' },
      ],
      server_features: ['trusted_xds_server', 'unheard_of', 'grpc_xds_delta', 'xds_v3'],
      call_creds: [{ type: 'unheard_of' }],
    };
    expect(key(a)).toBe(key(b));
  });

  it.each([
    ['URI', { server_uri: 'other.test:443' }],
    ['type of credentials', { channel_creds: [{ type: 'google_default' }] }],
    ['configuration of credentials', { channel_creds: [{ type: 'insecure', config: {} }] }],
    ['call credentials', { call_creds: [{ type: 'jwt_token_file' }] }],
    ['features', { server_features: ['trusted_xds_server'] }],
  ])('depends on the %s', (_what, extra) => {
    expect(key(extra)).not.toBe(key({}));
  });

  it('cannot be forged by odd names', () => {
    const typed = (config: object) => key({ channel_creds: [{ type: 'tls', config }] });
    expect(typed({ 'a":1,"b': 1 })).not.toBe(typed({ a: 1, b: 1 }));
  });
});
