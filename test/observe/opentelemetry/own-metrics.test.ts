import { eventually } from '../../support/eventually';
import { bootstrapFor, Mesh, simpleResources, SERVICE, registerAnew } from '../../support/mesh';
import { MetricsReader, WAYS } from '../../support/metrics-reader';
import { dnsClusterJson } from '../../support/failover';
import { SLOW_HOST, SlowLookups } from '../../support/slow-lookups';
import {
  edsClusterJson,
  endpointsJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../../support/xds-json';

jest.setTimeout(60_000);

const NAMES = [
  'grpc_xds.lb.priority_in_use',
  'grpc_xds.lb.endpoints',
  'grpc_xds.lb.drops',
  'grpc_xds.xds_client.short_streams',
  'grpc_xds.fallback_active',
  'grpc_xds.config.apply_duration',
  'grpc_xds.config.held_back_duration',
];
const target = { 'grpc.target': `xds:///${SERVICE}` };
const cluster = { ...target, 'grpc.lb.backend_service': 'echo' };

describe.each(WAYS)('metrics that no gRFC defines, with a %s', (way) => {
  let mesh: Mesh;
  let reader: MetricsReader;
  beforeEach(async () => {
    mesh = await Mesh.start();
    reader = new MetricsReader(way, { disableAllMetrics: true, enableMetrics: NAMES });
  });
  afterEach(async () => {
    mesh.stop();
    await reader.stop();
  });

  const series = async (name: string) =>
    (await reader.series(name)).map(({ labels, value }) => [labels, value]);
  /** Without the states that no endpoint has any more: see docs/metrics.md. */
  const states = async () =>
    (await reader.series('grpc_xds.lb.endpoints'))
      .filter(({ value }) => value !== 0)
      .map(({ labels, value }) => [labels['grpc_xds.lb.endpoint_state'], value]);

  it('have the priority in use, and the endpoints by their state', async () => {
    const [first, second] = [await mesh.backend('first'), await mesh.backend('second')];
    const resources = simpleResources([first.port]);
    const endpoints = endpointsJson('echo', [
      { zone: 'a', ports: [first.port] },
      { zone: 'b', priority: 1, ports: [second.port] },
    ]);
    mesh.serve({ ...resources, endpoints: [endpoints] });
    const client = mesh.client();
    expect(await client.say()).toBe('first');
    expect(await series('grpc_xds.lb.priority_in_use')).toEqual([[cluster, 0]]);
    expect(await states()).toEqual([['READY', 1]]);
    first.stop();
    await eventually(
      () => series('grpc_xds.lb.priority_in_use'),
      ([one]) => one?.[1] === 1,
    );
    expect(await client.say()).toBe('second');
    const ready = (await states()).find(([state]) => state === 'READY');
    expect(ready).toEqual(['READY', 1]);
  });

  it('have the dropped calls by category', async () => {
    const backend = await mesh.backend('one');
    const resources = simpleResources([backend.port]);
    const policy: Json = {
      drop_overloads: [{ category: 'lunch', drop_percentage: { numerator: 100 } }],
    };
    mesh.serve({ ...resources, endpoints: resources.endpoints.map((e) => ({ ...e, policy })) });
    const client = mesh.client();
    await client.failure();
    await client.failure();
    const lunch = { ...cluster, 'grpc_xds.lb.drop_category': 'lunch' };
    expect(await series('grpc_xds.lb.drops')).toEqual([[lunch, 2]]);
    // With a limit of 0, no call gets as far as a category.
    const none = edsClusterJson('echo', {
      circuit_breakers: { thresholds: [{ max_requests: 0 }] },
    });
    mesh.serve({ ...resources, clusters: [none] });
    await eventually(
      () => client.failure(),
      ({ details }) => details.includes('concurrent requests'),
    );
    const overLimit = { ...cluster, 'grpc_xds.lb.drop_category': '' };
    const [unnamed] = await series('grpc_xds.lb.drops');
    expect(unnamed?.[0]).toEqual(overLimit);
  });

  it('have for how long an accepted resource has been held back', async () => {
    const backend = await mesh.backend('one');
    const resources = simpleResources([backend.port]);
    mesh.serve(resources);
    await mesh.client().say();
    const heldBack = () => series('grpc_xds.config.held_back_duration');
    expect(await heldBack()).toEqual([[target, 0]]);
    const lookups = new SlowLookups();
    try {
      const routes = [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('slow')])];
      const clusters = [...resources.clusters, dnsClusterJson('slow', backend.port, SLOW_HOST)];
      mesh.serve({ ...resources, routes, clusters });
      await eventually(heldBack, ([one]) => Number(one?.[1]) > 0);
      await eventually(() => lookups.pending, 1);
      lookups.answer();
      await eventually(heldBack, ([one]) => one?.[1] === 0);
    } finally {
      lookups.release();
    }
  });

  it('have the time that each change takes from the response of the server to its pickers', async () => {
    const [first, second] = [await mesh.backend('first'), await mesh.backend('second')];
    const duration = async () => {
      const [one, ...others] = await reader.series('grpc_xds.config.apply_duration');
      expect(others).toEqual([]);
      return one;
    };
    mesh.serve(simpleResources([first.port]));
    const client = mesh.client();
    expect(await client.say()).toBe('first');
    // The first config is complete with the last of the four resources: those before do not count.
    expect(await duration()).toMatchObject({ labels: target, value: 1 });
    mesh.serve(simpleResources([second.port]));
    await eventually(
      () => client.say(),
      (answer) => answer === 'second',
    );
    const changed = await duration();
    expect(changed?.value).toBe(2);
    expect(changed?.sum).toBeGreaterThan(0);
    // Without its listener, the target has no config to apply.
    mesh.serve({ ...simpleResources([second.port]), listeners: [] });
    await eventually(
      () => client.say().catch(() => 'failed'),
      (answer) => answer === 'failed',
    );
    expect((await duration())?.value).toBe(2);
  });

  it('have whether a target uses another server than its first', async () => {
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    const authority = { ...target, 'grpc.xds.authority': '#old' };
    await mesh.client().say();
    expect(await series('grpc_xds.fallback_active')).toEqual([[authority, 0]]);
    const ofServer = { ...target, 'grpc.xds.server': mesh.address };
    expect(await series('grpc_xds.xds_client.short_streams')).toEqual([[ofServer, 0]]);
    // Nothing listens on port 1.
    const [unreachable, server] = [bootstrapFor('127.0.0.1:1'), bootstrapFor(mesh.address)];
    const servers = [unreachable, server].map(({ xds_servers }) => xds_servers);
    registerAnew({ bootstrap: { ...server, xds_servers: servers.flat() } });
    await mesh.client().say();
    await eventually(
      () => series('grpc_xds.fallback_active'),
      ([one]) => one?.[1] === 1,
    );
  });
});
