import { inspect, type LogRecord } from '../../src';
import { eventually } from '../support/eventually';
import { aggregateJson } from '../support/failover';
import { HeldTimers } from '../support/held-timers';
import {
  bootstrapFor,
  Mesh,
  SERVICE,
  DISTANT_VARIANTS,
  type MeshResources,
  registerAnew,
} from '../support/mesh';
import { SlowLink } from './slow-link';
import type { EchoClient } from '../support/echo-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

function routes(cluster: string): MeshResources['routes'] {
  return [routeConfigJson(`${SERVICE}-routes`, [routeToCluster(cluster)])];
}

function withCluster(name: string, port: number): MeshResources {
  return {
    listeners: [listenerJson(SERVICE)],
    routes: routes(name),
    clusters: [edsClusterJson(name)],
    endpoints: [endpointsJson(name, [{ zone: 'a', ports: [port] }])],
  };
}

// One stream for everything, and as many as there can be.

describe.each(DISTANT_VARIANTS)('a route that is moved to another cluster (%s)', (_, features) => {
  const records: LogRecord[] = [];
  const logger = { log: (record: LogRecord) => void records.push(record) };
  const errors = () => records.filter(({ level }) => level === 'error');
  let mesh: Mesh;
  let link: SlowLink | undefined;
  let timers: HeldTimers;
  let client: EchoClient;
  let ports: readonly number[] = [];

  const start = async (delayMs: number) => {
    mesh = await Mesh.start();
    const { address } = mesh;
    link = delayMs === 0 ? undefined : await SlowLink.start(Number(address.split(':')[1]), delayMs);
    registerAnew({ bootstrap: bootstrapFor(link?.address ?? address, features), logger });
    ports = [(await mesh.backend('b0')).port, (await mesh.backend('b1')).port];
    mesh.serve(resourcesAt(0));
    client = mesh.client();
    await untilServed(0);
  };
  const resourcesAt = (at: number) => withCluster(`cluster-${at}`, ports[at % 2] ?? 0);
  const untilServed = (at: number) => eventually(() => client.say().catch(() => ''), `b${at % 2}`);

  beforeEach(() => {
    records.length = 0;
    timers = new HeldTimers('settled-report');
  });
  afterEach(() => {
    timers.stop();
    link?.stop();
    mesh.stop();
    registerAnew({});
  });

  it.each([
    [0, 12],
    [50, 4],
  ])('logs no error, with %d ms of latency, in %d replacements', async (delayMs, count) => {
    await start(delayMs);
    for (let at = 1; at <= count; at++) {
      mesh.serve(resourcesAt(at));
      await untilServed(at);
    }
    await eventually(() => timers.size, 0);
    expect(errors()).toEqual([]);
  });

  it('logs no error if it is one of an aggregate', async () => {
    await start(0);
    const withChild = (at: number): MeshResources => ({
      ...resourcesAt(at),
      routes: routes('aggregate'),
      clusters: [
        aggregateJson('aggregate', [`cluster-${at}`, 'last']),
        ...[`cluster-${at}`, 'last'].map((name) => edsClusterJson(name)),
      ],
      endpoints: [`cluster-${at}`, 'last'].map((name) =>
        endpointsJson(name, [{ zone: 'a', ports: [ports[name === 'last' ? 1 : 0] ?? 0] }]),
      ),
    });
    for (let at = 0; at < 10; at++) {
      mesh.serve(withChild(at));
      // Calls may be at the last cluster meanwhile.
      await eventually(
        async () => (inspect().targets[0]?.heldBack.length === 0 ? client.say() : ''),
        'b0',
      );
    }
    timers.runOut();
    expect(errors()).toEqual([]);
  });

  it.each([
    ['the cluster first', (next: MeshResources) => ({ ...next, routes: routes('cluster-0') })],
    [
      'the route first',
      (next: MeshResources) => ({
        ...next,
        clusters: resourcesAt(0).clusters,
        endpoints: resourcesAt(0).endpoints,
      }),
    ],
  ])('logs no error if one comes late: %s', async (__, half) => {
    await start(0);
    const next = resourcesAt(1);
    mesh.serve(half(next));
    await client.say().catch(() => '');
    mesh.serve(next);
    await untilServed(1);
    await eventually(() => timers.size, 0);
    expect(errors()).toEqual([]);
  });

  it('logs, once, that a cluster is removed to which a route refers', async () => {
    await start(0);
    mesh.serve({ ...resourcesAt(0), clusters: [], endpoints: [] });
    const details = await eventually(
      () => client.say().catch((error: unknown) => String(error)),
      (answer) => answer !== 'b0',
    );
    expect(errors()).toEqual([]);
    timers.runOut();
    expect(details).toMatch(
      /no such resource: .* (has removed|does not have) it: .* \(failing since 20\d\d-/,
    );
    expect(errors()).toMatchObject([{ event: 'cluster-failed', cluster: 'cluster-0' }]);
    await client.failure();
    timers.runOut();
    expect(errors()).toHaveLength(1);
  });
});
