import { isDeepStrictEqual } from 'node:util';
import { Metadata } from '@grpc/grpc-js';
import { serveAdminPage, type AdminPage } from '../../packages/page/src';
import type { CallWay } from '../../packages/page/src/process/call-way';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE, type MeshResources } from '../support/mesh';
import { getPage } from '../support/page-reader';
import { seededRandom } from '../support/seeded-random';
import {
  PICK_FIRST,
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  type Json,
} from '../support/xds-json';

const CALLS = 60;
/** Calls at once, each with a request of its own to the page, which accepts 8 connections. */
const AT_ONCE = 4;
const CLUSTERS = ['plain', 'zones', 'failover', 'primary', 'standby'];

describe('the explained way of a call', () => {
  let mesh: Mesh;
  let page: AdminPage;

  afterEach(async () => {
    await page.close();
    mesh.stop();
  });

  it(`is the one that is taken, for ${CALLS} random calls`, async () => {
    mesh = await Mesh.start();
    const names = CLUSTERS.flatMap((cluster) => [`${cluster}-a`, `${cluster}-b`]);
    const backends = await Promise.all(names.map((name) => mesh.backend(name)));
    const ports = new Map(backends.map(({ name, port }) => [name, port]));
    mesh.serve(resourcesFor((name) => ports.get(name) ?? 0));
    const client = mesh.client();
    page = await serveAdminPage({ port: 0 });

    // Each cluster is connected, and what cannot be reached has failed, before ways are compared.
    const endpoints = { beta: 2, gamma: 1, delta: 2, split: 4 };
    const ways = Object.keys(endpoints).map((user) => ({ 'x-user': user }));
    for (const headers of ways) await client.say({ metadata: metadataOf(headers) });
    await eventually(
      async () => Promise.all(ways.map((headers) => explain(page, headers))),
      (all) => {
        const taken = all.map((way) => endpointsOf(way).size);
        return isDeepStrictEqual(taken, Object.values(endpoints)) && all.every(isConnected);
      },
    );

    const random = seededRandom(32);
    const calls = Array.from({ length: CALLS }, () => randomHeaders(random));
    const kinds = new Set<string>();
    const compareAll = async (): Promise<void> => {
      for (let headers = calls.pop(); headers !== undefined; headers = calls.pop()) {
        const way = await explain(page, headers);
        const explained = endpointsOf(way);
        const taken = await client.say({ metadata: metadataOf(headers) }).catch(() => undefined);
        const address = taken === undefined ? undefined : `127.0.0.1:${ports.get(taken)}`;
        kinds.add(taken ?? 'failed');
        // A call without an answer has no endpoint on its way; of an answer the endpoint is on it.
        expect({
          headers,
          isExplained: address === undefined ? explained.size === 0 : explained.has(address),
        }).toEqual({ headers, isExplained: true });
        if (explained.size > 0) expect(sumOf(explained)).toBeCloseTo(1, 9);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, compareAll));
    // Those of the priority that cannot be reached, and of the one that is not needed, took none.
    expect([...kinds].sort()).toEqual(
      [
        ...names.filter((name) => !['primary', 'failover'].includes(name.slice(0, -2))),
        'failover-b',
        'failed',
      ].sort(),
    );
  }, 180_000);

  it('has the shares that the backends count, whatever weights of endpoints and lost zones say', async () => {
    mesh = await Mesh.start();
    const names = ['a', 'b', 'c', 'lost'];
    const backends = await Promise.all(names.map((name) => mesh.backend(name)));
    const [a, b, c, lost] = backends.map(({ port }) => port);
    const to = (cluster: string) => ({
      match: { prefix: '', headers: [{ name: 'x-user', exact_match: cluster }] },
      route: { cluster },
    });
    const clusters = ['turns', 'first', 'zones'];
    mesh.serve({
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, clusters.map(to))],
      clusters: clusters.map((name) => edsClusterJson(name, name === 'first' ? PICK_FIRST : {})),
      endpoints: [
        withWeights('turns', a ?? 0, b ?? 0, c ?? 0),
        endpointsJson('first', [{ zone: 'a', ports: [a ?? 0, b ?? 0, c ?? 0] }]),
        endpointsJson('zones', [
          { zone: 'a', ports: [a ?? 0] },
          { zone: 'b', ports: [lost ?? 0] },
        ]),
      ],
    });
    const client = mesh.client();
    page = await serveAdminPage({ port: 0 });
    backends[3]?.stop();
    for (const cluster of clusters) {
      const headers = { 'x-user': cluster };
      await client.say({ metadata: metadataOf(headers) });
      // Of pick_first, all but one stay without a connection.
      const isSettled = (way: CallWay) => cluster === 'first' || isConnected(way);
      await eventually(async () => explain(page, headers), isSettled);
      const counted = new Map<string, number>();
      for (let index = 0; index < 30; index++) {
        const name = await client.say({ metadata: metadataOf(headers) });
        const address = `127.0.0.1:${backends.find((each) => each.name === name)?.port}`;
        counted.set(address, (counted.get(address) ?? 0) + 1 / 30);
      }
      const explained = endpointsOf(await explain(page, headers));
      const rounded = (shares: ReadonlyMap<string, number>) =>
        Object.fromEntries([...shares].map(([name, share]) => [name, share.toFixed(6)]));
      expect({ cluster, ...rounded(explained) }).toEqual({ cluster, ...rounded(counted) });
    }
  }, 120_000);
});

/**
 * Users beta, gamma and delta have clusters of their own, others one of a split or, in the region `none`, a route that fails. Of
 * cluster `failover` nothing listens in the first priority; `either` uses `standby`, because nothing of `primary` can be reached.
 */
function resourcesFor(portOf: (backend: string) => number): MeshResources {
  const user = (name: string) => [{ name: 'x-user', exact_match: name }];
  const route = (headers: readonly Json[], action: Json) => ({
    match: { prefix: '', headers },
    ...action,
  });
  const both = (cluster: string) => [portOf(`${cluster}-a`), portOf(`${cluster}-b`)];
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [
      routeConfigJson(`${SERVICE}-routes`, [
        route([{ name: 'x-region', exact_match: 'none' }], { non_forwarding_action: {} }),
        // Left out, since no call matches it: the ones after it keep their places.
        { match: { prefix: 'beta' }, route: { cluster: 'plain' } },
        route(user('beta'), { route: { cluster: 'zones' } }),
        route(user('gamma'), { route: { cluster: 'failover' } }),
        route(user('delta'), { route: { cluster: 'either' } }),
        {
          match: {
            prefix: '/test.Echo/',
            headers: [{ name: 'x-user', present_match: true }],
            runtime_fraction: { default_value: { numerator: 50 } },
          },
          route: {
            weighted_clusters: {
              clusters: [
                { name: 'plain', weight: 70 },
                { name: 'zones', weight: 30 },
                { name: 'failover', weight: 0 },
              ],
            },
          },
        },
        route([{ name: 'x-user', present_match: true }], { route: { cluster: 'plain' } }),
      ]),
    ],
    clusters: [
      ...CLUSTERS.map((name) => edsClusterJson(name)),
      {
        name: 'either',
        lb_policy: 'ROUND_ROBIN',
        cluster_type: {
          name: 'envoy.clusters.aggregate',
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig',
            clusters: ['primary', 'standby'],
          },
        },
      },
    ],
    endpoints: [
      endpointsJson('plain', [{ zone: 'a', ports: both('plain') }]),
      endpointsJson('zones', [
        { zone: 'a', ports: [portOf('zones-a')] },
        { zone: 'b', ports: [portOf('zones-b')] },
      ]),
      endpointsJson('failover', [
        { zone: 'a', ports: [1] },
        { zone: 'b', priority: 1, ports: [portOf('failover-b')] },
        { zone: 'c', priority: 2, ports: [portOf('failover-a')] },
      ]),
      endpointsJson('primary', [{ zone: 'a', ports: [1] }]),
      endpointsJson('standby', [{ zone: 'a', ports: both('standby') }]),
    ],
  };
}

/** Endpoints of one locality with the weights 1, 2, 3 and so on. */
function withWeights(cluster: string, ...ports: readonly number[]): Json {
  const lbEndpoints = ports.map((port, index) => ({
    endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
    load_balancing_weight: index + 1,
  }));
  const locality = { region: 'test', zone: 'a' };
  return {
    cluster_name: cluster,
    endpoints: [{ locality, load_balancing_weight: 1, lb_endpoints: lbEndpoints }],
  };
}

function randomHeaders(random: () => number): Readonly<Record<string, string>> {
  const pick = (values: readonly string[]) => values[Math.floor(random() * values.length)] ?? '';
  const user = pick(['', 'beta', 'gamma', 'delta', 'epsilon', 'zeta']);
  const region = pick(['', '', '', 'eu', 'none']);
  return { ...(user !== '' && { 'x-user': user }), ...(region !== '' && { 'x-region': region }) };
}

function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

async function explain(
  page: AdminPage,
  headers: Readonly<Record<string, string>>,
): Promise<CallWay> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const query = {
    target: `xds:///${SERVICE}`,
    method: '/test.Echo/Say',
    headers: lines.join('\n'),
  };
  const { text } = await getPage(page, `/api/explain?${new URLSearchParams(query).toString()}`);
  const { way } = JSON.parse(text) as { way?: CallWay };
  if (way === undefined) throw new Error(`no way: ${text}`);
  return way;
}

/** The endpoints at the end of a way that the call may take, with the share of such calls that each has. */
function endpointsOf({ nodes, edges }: CallWay): ReadonlyMap<string, number> {
  const endpoints = new Set(
    nodes.filter(({ column }) => column === 'endpoint').map(({ id }) => id),
  );
  const shares = new Map<string, number>();
  for (const { to, name, share } of edges) {
    if (endpoints.has(to) && share > 0) shares.set(name, (shares.get(name) ?? 0) + share);
  }
  return shares;
}

/** Whether nothing of a way still connects. One that connects takes no calls yet, and may take them a moment later. */
function isConnected(way: CallWay): boolean {
  const unsettled = way.forks.filter(({ text }) => /^(idle|connecting|waiting)/.test(text));
  return unsettled.length === 0 && endpointsOf(way).size > 0;
}

function sumOf(shares: ReadonlyMap<string, number>): number {
  return [...shares.values()].reduce((sum, share) => sum + share, 0);
}
