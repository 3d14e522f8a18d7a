// Route lookups (`grpc.lookup.v1`) and cluster specifier plugins from the route configuration to the backends.

import { Metadata, status } from '@grpc/grpc-js';
import { inspect, registerClusterSpecifierPlugin } from '../../src';
import { clusterKind } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { LookupServer } from '../support/lookup-server';
import { SERVICE, useMesh, type MeshResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

/** For a long run: `CALLS=10000`. */
const CALLS = Number(process.env['CALLS'] ?? 250);

const to = (target: string): Metadata => {
  const metadata = new Metadata();
  metadata.set('to', target);
  return metadata;
};

describe('calls of a route with a cluster specifier plugin', () => {
  // Whose control plane says at once that a cluster does not exist.
  const mesh = useMesh({ features: ['grpc_xds_delta'] });
  let lookups: LookupServer;
  let backends: readonly EchoBackend[];

  beforeEach(async () => {
    lookups = await new LookupServer().start();
    backends = await Promise.all(['a', 'b'].map((name) => mesh.backend(name)));
  });
  afterEach(() => lookups.stop());

  const rls = (changes: Json = {}): Json => ({
    '@type': 'type.googleapis.com/grpc.lookup.v1.RouteLookupClusterSpecifier',
    route_lookup_config: {
      grpc_keybuilders: [
        {
          names: [{ service: 'test.Echo' }],
          headers: [{ key: 'to', names: ['to'] }],
          extra_keys: { host: 'host', service: 'service', method: 'method' },
        },
      ],
      lookup_service: lookups.address,
      lookup_service_timeout: '5s',
      cache_size_bytes: 10_000,
      ...changes,
    },
  });
  const plugin = (typed_config: Json): Json => ({ extension: { name: 'p', typed_config } });
  const routesBy = (typed_config: Json): Json => ({
    ...routeConfigJson(`${SERVICE}-routes`, [
      { match: { prefix: '' }, route: { cluster_specifier_plugin: 'p' } },
    ]),
    cluster_specifier_plugins: [plugin(typed_config)],
  });
  const serve = (routes: Json) =>
    mesh.serve({
      listeners: [listenerJson(SERVICE)],
      routes: [routes],
      clusters: backends.map(({ name }) => edsClusterJson(name)),
      endpoints: backends.map(({ name, port }) =>
        endpointsJson(name, [{ zone: 'a', ports: [port] }]),
      ),
    } satisfies MeshResources);

  const say = (client: EchoClient, target: string) => client.say({ metadata: to(target) });
  const subscribed = () => {
    const [client] = mesh.controlPlane.clients();
    return client?.types.get(clusterKind.typeUrl)?.subscribed ?? [];
  };

  it('go to the clusters that the lookup service returns, with its header data', async () => {
    lookups.answer = ({ keyMap }) => ({ targets: [keyMap.get('to') ?? ''], headerData: 'data' });
    serve(routesBy(rls()));
    const client = mesh.client();
    expect(await say(client, 'a')).toBe('a');
    expect(subscribed()).toEqual(['a']);
    expect(await Promise.all(['a', 'b', 'b'].map((target) => say(client, target)))).toEqual([
      'a',
      'b',
      'b',
    ]);
    expect(subscribed()).toEqual(['a', 'b']);
    expect(lookups.keys).toEqual(
      ['a', 'b'].map((target) => ({
        to: target,
        host: SERVICE,
        service: 'test.Echo',
        method: 'Say',
      })),
    );
    expect(lookups.authority).toBe(SERVICE);
    expect(backends[0]?.metadata.get('x-google-rls-data')).toEqual(['data']);
    // Without the plugin, its clusters are not subscribed to any more.
    serve(routeConfigJson(`${SERVICE}-routes`, [routeToCluster('b')]));
    await eventually(subscribed, ['b']);
    expect(await say(client, 'a')).toBe('b');
  });

  it('use the default target while lookups fail, and the service again when it is back', async () => {
    lookups.answer = () => ({ code: status.INTERNAL });
    serve(routesBy(rls({ default_target: 'a' })));
    const client = mesh.client();
    expect(await say(client, 'b')).toBe('a');
    lookups.stop();
    expect(await say(client, 'x')).toBe('a');
    lookups.answer = () => ({ targets: ['b'] });
    await lookups.start();
    await eventually(() => say(client, 'b'), 'b');
  });

  it('fail with what the lookup service or a missing cluster says', async () => {
    lookups.answer = ({ keyMap }) =>
      keyMap.get('to') === 'no'
        ? { code: status.NOT_FOUND, details: 'unknown' }
        : { targets: ['gone'] };
    serve(routesBy(rls()));
    const client = mesh.client();
    // First, since lookups may not be sent after others have failed.
    const missing = await client.failure({ metadata: to('x') });
    expect(missing).toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining('Cluster "gone"'),
    });
    const refused = await client.failure({ metadata: to('no') });
    expect(refused).toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining(
        `Route lookup service "${lookups.address}": NOT_FOUND: unknown; there is no default target`,
      ),
    });
  });

  it('say what they wait for when their deadline passes', async () => {
    lookups.answer = () => 'never';
    serve(routesBy(rls()));
    const { details } = await mesh.client().failure({ metadata: to('a'), deadlineMs: 500 });
    expect(details).toContain(`Route lookup service "${lookups.address}" has not answered`);
  });

  it('that wait for a service are looked up by another one when the plugin changes', async () => {
    lookups.answer = () => 'never';
    const other = await new LookupServer().start();
    serve(routesBy(rls()));
    const answers = Promise.all(['a', 'b'].map((target) => say(mesh.client(), target)));
    await eventually(() => lookups.requests.length, 2);
    serve(routesBy(rls({ lookup_service: other.address })));
    expect(await answers).toEqual(['a', 'b']);
    other.stop();
  });

  it('all succeed while the configuration changes, and leave nothing', async () => {
    const client = mesh.client();
    const configs = [
      routesBy(rls()),
      routesBy(rls({ default_target: 'b', max_age: '1s' })),
      routeConfigJson(`${SERVICE}-routes`, [routeToCluster('a')]),
    ];
    let flips = 0;
    serve(configs[0] ?? {});
    const flipping = setInterval(() => serve(configs[++flips % configs.length] ?? {}), 20);
    const answers = new Set<string>();
    const batch = 50;
    for (let i = 0; i < CALLS; i += batch) {
      const calls = Array.from({ length: batch }, (_, j) => say(client, j % 2 === 0 ? 'a' : 'b'));
      for (const answer of await Promise.all(calls)) answers.add(answer);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clearInterval(flipping);
    expect([...answers].sort()).toEqual(['a', 'b']);
    expect(flips).toBeGreaterThan(0);
    serve(routeConfigJson(`${SERVICE}-routes`, [routeToCluster('b')]));
    await eventually(() => say(client, 'a'), 'b');
    await eventually(subscribed, ['b']);
    expect(JSON.stringify(inspect())).not.toContain('rls_experimental');
  });

  it('of the application go where it says, and are refused by what it throws', async () => {
    registerClusterSpecifierPlugin({
      configTypes: ['acme.v1.Shard'],
      toLbConfig(input) {
        if (input.kind !== 'json') throw new Error('must be in a TypedStruct');
        const { shard } = input.json;
        if (shard === undefined) throw new Error('shard: field not present');
        return [{ cds_experimental: { cluster: shard, isDynamic: true } }];
      },
    });
    const struct = (value: Json): Json => ({
      '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
      type_url: 'type.googleapis.com/acme.v1.Shard',
      value,
    });
    serve(routesBy(struct({ shard: 'a' })));
    const client = mesh.client();
    expect(await client.say()).toBe('a');
    serve(routesBy(struct({ shard: 'b' })));
    await eventually(() => client.say(), 'b');
    serve(routesBy(struct({})));
    await eventually(
      () => JSON.stringify(inspect()),
      (text) =>
        text.includes(
          'cluster_specifier_plugins[0].extension.typed_config: shard: field not present',
        ),
    );
    expect(await client.say()).toBe('b');
  });
});
