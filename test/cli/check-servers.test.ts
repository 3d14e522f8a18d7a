import { Snapshot, type Servers } from '../../src/control-plane';
import { dumpSnapshot, toResourceFile } from '../../packages/cli/src/dump/dump';
import { DoctorWorld } from './doctor-world';
import { anything, inNamespace, rbacJson } from '../support/rbac-json';

const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';
const RBAC = 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC';
const MANAGER =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

const anyone = { permissions: [{ any: true }], principals: [{ any: true }] };
const onSomePath = [{ url_path: { path: { prefix: '/a.' } } }];
const forwarding = { match: { prefix: '' }, non_forwarding_action: {} };

function listener(
  filters: readonly object[],
  chain: object = {},
  routes = [forwarding] as object[],
) {
  const named = filters.map((config, i) => ({
    name: `f${i}`,
    typed_config: { '@type': RBAC, ...config },
  }));
  const manager = {
    '@type': MANAGER,
    route_config: { name: 'inbound', virtual_hosts: [{ domains: ['*'], routes }] },
    http_filters: [...named, { name: 'router', typed_config: { '@type': ROUTER } }],
  };
  return {
    name: 'l',
    address: { socket_address: { address: '0.0.0.0', port_value: 1 } },
    filter_chains: [{ name: 'c', filters: [{ name: 'hcm', typed_config: manager }], ...chain }],
  };
}

const mutualTls = (validates: boolean) => ({
  transport_socket: {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
      common_tls_context: {
        tls_certificate_provider_instance: { instance_name: 'own' },
        ...(validates && {
          validation_context: { ca_certificate_provider_instance: { instance_name: 'own' } },
        }),
      },
    },
  },
});

const policies = (policy: object) => ({ rules: { policies: { p: policy } } });
const principal = (json: object) => policies({ permissions: onSomePath, principals: [json] });
const authenticated = { authenticated: { principal_name: { exact: 'spiffe://a/b' } } };
const claim = {
  metadata: {
    filter: 'envoy.filters.http.jwt_authn',
    path: [{ key: 'payload' }, { key: 'iss' }],
    value: { string_match: { exact: 'x' } },
  },
};

const PLAIN = 'filter chain "c": it has no TLS';
const METADATA = 'it demands what no request of a gRPC server has, such as metadata of a JWT';
const STRANGER =
  'it demands a principal, and clients in plain text have none: add a transport_socket';

const OF_FIELDS = /without effect on|no gRPC client reads/;

describe('grpc-xds check of Listeners of servers', () => {
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());

  /** @returns the exit code, and the findings but those of fields. */
  async function check(json: object): Promise<readonly [number, readonly string[]]> {
    const file = world.write('servers.json', { listeners: [json] });
    const code = await world.io.run('check', file);
    const lines = world.io.errors.filter((line) => !OF_FIELDS.test(line));
    return [code, lines.map((line) => line.replace(/^.*listener "l": /, ''))];
  }

  const tls = mutualTls(true);
  it.each<[string, object, readonly string[]]>([
    ['mutual TLS', listener([principal(authenticated)], tls), []],
    ['plain text', listener([]), [PLAIN]],
    [
      'a chain that matches nothing',
      listener([], { ...tls, filter_chain_match: { server_names: ['a'] } }),
      ['filter chain "c" matches no connection of a gRPC server, because of server_names'],
    ],
    [
      'a filter without rules',
      listener([{}], tls),
      ['filter chain "c": HTTP filter "f0": it has no rules that allow or deny, and so no effect'],
    ],
    [
      'a filter that logs',
      listener([{ rules: { action: 'LOG', policies: { p: anyone } } }], tls),
      ['filter chain "c": HTTP filter "f0": it has no rules that allow or deny'],
    ],
    [
      'ALLOW without policies',
      listener([{ rules: {} }], tls),
      ['filter chain "c": HTTP filter "f0": it allows nothing, since it has no policies: every'],
    ],
    [
      'DENY without policies',
      listener([{ rules: { action: 'DENY' } }], tls),
      ['filter chain "c": HTTP filter "f0": it denies nothing'],
    ],
    [
      'DENY of everything',
      listener([{ rules: { action: 'DENY', policies: { p: anyone } } }], tls),
      [],
    ],
    [
      'ALLOW of everything',
      listener([policies(anyone)], tls),
      ['filter chain "c": HTTP filter "f0": it allows every request, by the policy "p"'],
    ],
    [
      'a principal in plain text',
      listener([principal(authenticated)]),
      [PLAIN, `filter chain "c": HTTP filter "f0": policy "p" matches no request: ${STRANGER}`],
    ],
    [
      'a principal without client certificates',
      listener([principal(authenticated)], mutualTls(false)),
      [
        'filter chain "c": HTTP filter "f0": policy "p" matches no request: it demands a principal, and clients are not asked for certificates',
      ],
    ],
    [
      'any TLS without client certificates',
      listener([principal({ authenticated: {} })], mutualTls(false)),
      [],
    ],
    [
      'a principal that is excluded in plain text',
      listener([principal({ not_id: authenticated })]),
      [PLAIN, `filter chain "c": HTTP filter "f0": a condition of policy "p": ${STRANGER}`],
    ],
    [
      'a JWT',
      listener([principal({ and_ids: { ids: [claim, authenticated] } })], tls),
      [`filter chain "c": HTTP filter "f0": policy "p" matches no request: ${METADATA}`],
    ],
    [
      'a JWT among others',
      listener([principal({ or_ids: { ids: [claim, authenticated] } })], tls),
      [`filter chain "c": HTTP filter "f0": a condition of policy "p": ${METADATA}`],
    ],
    [
      'an action of clients',
      listener([], tls, [{ match: { prefix: '' }, route: { cluster: 'c' } }]),
      [
        'filter chain "c": the routes "inbound": 1 of 1 routes fail their requests with UNAVAILABLE',
      ],
    ],
  ])('warns of what is legal and useless: %s', async (_text, json, expected) => {
    const [code, found] = await check(json);
    expect(code).toBe(0);
    expect(found.map((line, i) => line.slice(0, expected[i]?.length))).toEqual(expected);
  });

  it('lists what a server rejects', async () => {
    const [code, found] = await check(listener([{ rules: { action: 7 } }], { filters: [] }));
    expect(code).toBe(1);
    expect(world.io.errors[0]).toMatch(
      /servers\.json:1:\d+: listener "l": servers reject it \(NACK\): filter_chains\[0\]\.filters/,
    );
    expect(found).toHaveLength(1);
  });

  it('needs no bootstrap for the certificates that a Listener names', async () => {
    const filter = rbacJson({ p: { permissions: [anything], principals: [inNamespace('a')] } });
    const servers: Servers = { '10.0.0.1:1': { mtls: 'STRICT', httpFilters: [filter] } };
    const file = toResourceFile(dumpSnapshot('snapshot', Snapshot.forServers(servers)));
    expect(await world.io.run('check', world.write('istio.json', file))).toBe(0);
    expect(world.io.errors.filter((line) => !OF_FIELDS.test(line))).toEqual([]);
  });
});
