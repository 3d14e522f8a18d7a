import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeIo } from './fake-io';

describe('grpc-xds check of a resource with fields that have no effect on gRPC clients', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cli-warnings-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function check(cluster: object): Promise<{ code: number; errors: readonly string[] }> {
    const file = join(folder, 'resources.json');
    writeFileSync(file, JSON.stringify({ clusters: [cluster] }));
    const io = new FakeIo();
    const code = await io.run('check', '--allow-inconsistent', file);
    return { code, errors: io.errors.map((line) => line.replace(file, 'FILE')) };
  }

  const valid = { name: 'shop', type: 'EDS', edsClusterConfig: { edsConfig: { ads: {} } } };

  it('warns, with the paths, and finds it good', async () => {
    const circuitBreakers = { thresholds: [{ maxRequests: 3, maxConnections: 4 }] };
    const json = JSON.stringify({ clusters: [{ ...valid, circuitBreakers }] });
    expect(json.indexOf('"maxConnections"') + 1).toBe(136);
    expect(await check({ ...valid, circuitBreakers })).toEqual({
      code: 0,
      errors: [
        'FILE:1:136: warning: cluster "shop": without effect on gRPC clients: circuit_breakers.thresholds[0].max_connections',
      ],
    });
  });

  it('warns of fields that only Envoy reads, where they are', async () => {
    const file = join(folder, 'resources.yaml');
    const text = `routes:
  - name: r
    virtual_hosts:
      - name: all
        domains: ['*']
        routes:
          - match: { prefix: '' }
            route:
              cluster: shop
              requestMirrorPolicies: [{ cluster: shadow }]
              prefix_rewrite: /
              typo_rewrite: /
`;
    const run = async (yaml: string) => {
      writeFileSync(file, yaml);
      const io = new FakeIo();
      const code = await io.run('check', '--allow-inconsistent', file);
      return { code, errors: io.errors.map((line) => line.replace(file, 'FILE')) };
    };
    expect(await run(text)).toEqual({
      code: 1,
      errors: [
        'FILE:12:15: routes[0] ("r"): virtual_hosts[0].routes[0].route: unknown field "typo_rewrite"',
      ],
    });
    expect(await run(text.replace(/ *typo.*\n/, ''))).toEqual({
      code: 0,
      errors: [
        'FILE:11:15: warning: routes[0] ("r"): virtual_hosts[0].routes[0].route: no gRPC client reads "prefix_rewrite"',
        'FILE:10:15: warning: route configuration "r": without effect on gRPC clients: virtual_hosts[0].routes[0].route.request_mirror_policies: only with GRPC_XDS_NODE_ENVOY_FEATURES=true',
      ],
    });
  });

  it('warns of a field once, with the number of its places', async () => {
    const file = join(folder, 'resources.yaml');
    const route =
      "{ match: { prefix: '' }, route: { cluster: shop, timeout: 5s, prefix_rewrite: / } }";
    const routes = `[${route}, ${route}, ${route}]`;
    writeFileSync(
      file,
      `routes: [{ name: r, virtual_hosts: [{ name: all, domains: ['*'], routes: ${routes} }] }]`,
    );
    const io = new FakeIo();
    expect(await io.run('check', '--allow-inconsistent', file)).toBe(0);
    expect(io.errors.map((line) => line.replace(file, 'FILE'))).toEqual([
      'FILE:1:137: warning: routes[0] ("r"): virtual_hosts[0].routes[0].route: no gRPC client reads "prefix_rewrite" (first of 3 places)',
      'FILE:1:124: warning: route configuration "r": without effect on gRPC clients: virtual_hosts[0].routes[0].route.timeout (first of 3 places)',
    ]);
  });

  it('warns of routes that are left out, at the field that is the reason', async () => {
    const file = join(folder, 'resources.yaml');
    const text = `routes:
  - name: r
    virtual_hosts:
      - name: all
        domains: ['*']
        routes:
          - match: { prefix: '', query_parameters: [{ name: a }] }
            route: { cluster: shop }
          - match: { prefix: shop }
            route: { cluster: shop }
          - match: { prefix: '' }
            route: { cluster_header: x-cluster }
          - match: { prefix: '' }
            route: {}
          - match: { prefix: '' }
            route: { cluster: shop }
`;
    writeFileSync(file, text);
    const io = new FakeIo();
    expect(await io.run('check', '--allow-inconsistent', file)).toBe(0);
    const route =
      'route configuration "r": without effect on gRPC clients: virtual_hosts[0].routes';
    const leftOut = 'the route is left out, since';
    expect(io.errors.map((line) => line.replace(file, 'FILE'))).toEqual([
      `FILE:7:34: warning: ${route}[0].match.query_parameters: ${leftOut} no gRPC call matches it`,
      `FILE:9:22: warning: ${route}[1].match.prefix: ${leftOut} no gRPC call matches it`,
      `FILE:12:22: warning: ${route}[2].route.cluster_header: ${leftOut} gRPC does not know such clusters`,
      `FILE:14:13: warning: ${route}[3].route: ${leftOut} it has no cluster`,
    ]);
  });

  it.each([
    ['no localities', [], 'it has no localities'],
    [
      'an empty locality',
      [{ locality: { zone: 'a' }, loadBalancingWeight: 1 }],
      'its only locality has no endpoint',
    ],
  ])('says of an assignment why it has no usable endpoint: %s', async (_text, endpoints, fact) => {
    const file = join(folder, 'resources.json');
    writeFileSync(file, JSON.stringify({ endpoints: [{ clusterName: 'shop', endpoints }] }));
    const io = new FakeIo();
    expect(await io.run('check', file)).toBe(0);
    expect(io.errors.join()).toMatch(`no usable endpoint: ClusterLoadAssignment "shop": ${fact}`);
  });

  it('warns of the fields of filters and policies, and not of labels', async () => {
    const typed = (type: string, config: object) => ({
      '@type': `type.googleapis.com/envoy.extensions.${type}`,
      ...config,
    });
    const policy = (type: string, config: object) => ({
      policies: [
        {
          typedExtensionConfig: {
            name: 'label',
            typedConfig: typed(`load_balancing_policies.${type}`, config),
          },
        },
      ],
    });
    const { code, errors } = await check({
      ...valid,
      loadBalancingPolicy: policy('wrr_locality.v3.WrrLocality', {
        endpointPickingPolicy: policy('ring_hash.v3.RingHash', { hashBalanceFactor: 150 }),
      }),
    });
    expect(code).toBe(0);
    expect(errors).toEqual([
      expect.stringContaining(
        'load_balancing_policy.policies[0].typed_extension_config.typed_config.endpoint_picking_policy.policies[0].typed_extension_config.typed_config.hash_balance_factor',
      ),
    ]);
  });

  it('does not warn of what Envoy demands, nor of the address that Istio gives a listener of clients', async () => {
    const file = join(folder, 'resources.json');
    const type = (name: string) => `type.googleapis.com/envoy.extensions.filters.${name}`;
    const router = { name: 'router', typedConfig: { '@type': type('http.router.v3.Router') } };
    const apiListener = {
      '@type': type('network.http_connection_manager.v3.HttpConnectionManager'),
      statPrefix: 'shop',
      httpFilters: [router],
      rds: { routeConfigName: 'r', configSource: { ads: {}, resourceApiVersion: 'V3' } },
    };
    const address = { socketAddress: { address: '10.0.0.1', portValue: 80 } };
    const listener = { name: 'shop', address, apiListener: { apiListener } };
    writeFileSync(file, JSON.stringify({ listeners: [listener] }));
    const io = new FakeIo();
    expect(await io.run('check', '--allow-inconsistent', file)).toBe(0);
    expect(io.errors).toEqual([]);
  });

  it('does not warn of the name of an assignment in a cluster of DNS, which Envoy demands', async () => {
    const socket_address = { address: 'db.test', port_value: 80 };
    const load_assignment = {
      cluster_name: 'shop',
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address } } }] }],
    };
    const cluster = { name: 'shop', type: 'LOGICAL_DNS', load_assignment };
    expect(await check(cluster)).toEqual({ code: 0, errors: [] });
  });

  it('does not warn of a resource that clients use as a whole', async () => {
    expect(await check(valid)).toEqual({ code: 0, errors: [] });
  });

  it('only has the violations of a resource that clients reject', async () => {
    const circuitBreakers = { thresholds: [{ maxConnections: 4 }] };
    const { code, errors } = await check({ ...valid, lbPolicy: 'MAGLEV', circuitBreakers });
    expect(code).toBe(1);
    expect(errors).toEqual([expect.stringContaining('clients reject it (NACK)')]);
  });
});
