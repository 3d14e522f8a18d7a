import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metadata } from '@grpc/grpc-js';
import { explainResources } from '../../src';
import { edsClusterJson, endpointsJson, listenerJson, routeConfigJson } from '../support/xds-json';

const example = join(__dirname, '..', '..', 'examples', 'echo.yaml');

const resources = {
  listeners: [listenerJson('shop')],
  routes: [
    routeConfigJson('shop-routes', [
      { match: { prefix: '/shop.Cart/' }, route: { cluster: 'cart' } },
      {
        match: { prefix: '', headers: [{ name: 'tier', string_match: { exact: 'gold' } }] },
        route: {
          weighted_clusters: { clusters: [weighted('gold', 3), weighted('silver', 1)] },
          timeout: '3s',
        },
      },
    ]),
  ],
  clusters: ['cart', 'gold', 'silver'].map((name) => edsClusterJson(name)),
  endpoints: ['cart', 'gold', 'silver'].map((name) =>
    endpointsJson(name, [{ zone: 'a', ports: [1] }]),
  ),
};

function weighted(name: string, weight: number) {
  return { name, weight };
}

function explain(method: string, headers: Record<string, string> = {}, given: object = resources) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return explainResources(given, 'xds:///shop', method, metadata);
}

describe('explainResources', () => {
  it('names the route and the clusters of a call, with their shares', () => {
    expect(explain('/shop.Cart/Get')).toMatchObject({
      kind: 'routed',
      virtualHost: 'all',
      decisions: [{ index: 0, outcome: { kind: 'forward', clusters: [{ name: 'cart' }] } }],
      unmatchedShare: 0,
    });
    expect(explain('/shop.Pay/Do', { tier: 'gold' })).toMatchObject({
      routes: [{ mismatch: 'path is not prefix /shop.Cart/' }, { mismatch: undefined }],
      decisions: [
        {
          index: 1,
          outcome: {
            clusters: [
              { name: 'gold', share: 0.75 },
              { name: 'silver', share: 0.25 },
            ],
          },
        },
      ],
      unusedFields: [
        {
          resource: 'RouteConfiguration "shop-routes"',
          fields: ['virtual_hosts[0].routes[1].route.timeout'],
        },
      ],
    });
  });

  it('says why a call has no route', () => {
    expect(explain('/shop.Pay/Do')).toMatchObject({ decisions: [], unmatchedShare: 1 });
    expect(String(explain('/shop.Pay/Do'))).toContain('header tier is absent');
  });

  it('says which resource is missing or rejected', () => {
    const missing = explain('/a/b', {}, { ...resources, routes: [] });
    expect(missing).toMatchObject({
      kind: 'unrouted',
      reason: expect.stringContaining('RouteConfiguration "shop-routes": not among the resources'),
    });
    const listeners = [{ ...listenerJson('shop'), api_listener: undefined }];
    const rejected = explain('/a/b', {}, { ...resources, listeners });
    expect(rejected).toMatchObject({
      kind: 'unrouted',
      reason: expect.stringMatching(/Listener "shop"/),
    });
    expect(explainResources(resources, 'dns:///shop', '/a/b')).toMatchObject({
      reason: 'not an xds: target: dns:///shop; use xds:///<name>',
    });
  });

  it('finds the Listener of an authority', () => {
    const name = 'xdstp://mesh/envoy.config.listener.v3.Listener/shop';
    const listeners = [listenerJson(name, 'shop-routes')];
    expect(
      explainResources({ ...resources, listeners }, 'xds://mesh/shop', '/shop.Cart/Get'),
    ).toMatchObject({ kind: 'routed' });
  });

  it('does not resolve the names of clusters', () => {
    const cluster = {
      name: 'cart',
      type: 'LOGICAL_DNS',
      load_assignment: {
        endpoints: [
          {
            lb_endpoints: [
              {
                endpoint: { address: { socket_address: { address: 'a.invalid', port_value: 1 } } },
              },
            ],
          },
        ],
      },
    };
    const clusters = [cluster, ...resources.clusters.slice(1)];
    expect(explain('/shop.Cart/Get', {}, { ...resources, clusters })).toMatchObject({
      kind: 'routed',
    });
  });

  it('explains a route to a thousand clusters', () => {
    const names = Array.from({ length: 1000 }, (_, i) => `c${i}`);
    const routes = [
      routeConfigJson(
        'shop-routes',
        names.map((cluster) => ({ match: { prefix: `/${cluster}/` }, route: { cluster } })),
      ),
    ];
    const clusters = names.map((name) => edsClusterJson(name));
    const endpoints = names.map((name) => endpointsJson(name, [{ zone: 'a', ports: [1] }]));
    const all = { listeners: resources.listeners, routes, clusters, endpoints };
    expect(explain('/c999/Get', {}, all)).toMatchObject({
      decisions: [{ index: 999, outcome: { clusters: [{ name: 'c999' }] } }],
    });
  });

  describe('given a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'explain-resources-'));
    afterAll(() => rmSync(folder, { recursive: true }));

    it('reads YAML', () => {
      expect(
        explainResources(example, 'xds:///echo.example.com:50051', '/echo.Echo/Say'),
      ).toMatchObject({ kind: 'routed', unmatchedShare: 0 });
    });

    it('throws every problem with its place', () => {
      const file = join(folder, 'bad.yaml');
      writeFileSync(file, 'clusters:\n  - nam: a\n');
      const explainFile = () => explainResources(file, 'xds:///shop', '/a/b');
      expect(explainFile).toThrow(/bad\.yaml:2:5: .*unknown field "nam"/);
    });
  });
});
