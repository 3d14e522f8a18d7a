import { type LogRecord } from '../../src';
import { eventually } from '../support/eventually';
import { aggregateJson, dnsClusterJson } from '../support/failover';
import { HeldTimers } from '../support/held-timers';
import {
  bootstrapFor,
  Mesh,
  SERVICE,
  VARIANTS,
  type MeshResources,
  registerAnew,
} from '../support/mesh';
import { SlowLink } from '../support/slow-link';
import {
  routeToSplit,
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

/** The resources of one step of a replacement. @param ports Those of the two backends. */
type Step = (ports: readonly [first: number, second: number]) => Partial<MeshResources>;

const inline = (cluster: string): Json => {
  const { api_listener: outer, ...rest } = listenerJson(SERVICE) as { api_listener: Json };
  const { api_listener: manager } = outer as { api_listener: Json };
  const route_config = routeConfigJson('inline', [routeToCluster(cluster)]);
  delete manager.rds;
  return { ...rest, api_listener: { api_listener: { ...manager, route_config } } };
};
const eds = (name: string, service?: string): Json =>
  edsClusterJson(
    name,
    service === undefined
      ? {}
      : { eds_cluster_config: { eds_config: { ads: {} }, service_name: service } },
  );
const at = (name: string, port: number): Json =>
  endpointsJson(name, [{ zone: 'a', ports: [port] }]);
const listener = [listenerJson(SERVICE)];
const routes = (cluster: string, name = `${SERVICE}-routes`) => [
  routeConfigJson(name, [routeToCluster(cluster)]),
];

/** What is replaced: from one step to the other, and back. */
const REPLACEMENTS: Record<string, readonly [Step, Step]> = {
  'RDS by inline routes, with another cluster': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x')],
      endpoints: [at('x', p)],
    }),
    ([, p]) => ({ listeners: [inline('y')], clusters: [eds('y')], endpoints: [at('y', p)] }),
  ],
  'RDS by inline routes, with the same cluster': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x')],
      endpoints: [at('x', p)],
    }),
    ([, p]) => ({ listeners: [inline('x')], clusters: [eds('x')], endpoints: [at('x', p)] }),
  ],
  'a route configuration, with its cluster': [
    ([p]) => ({
      listeners: [listenerJson(SERVICE, 'r0')],
      routes: routes('x', 'r0'),
      clusters: [eds('x')],
      endpoints: [at('x', p)],
    }),
    ([, p]) => ({
      listeners: [listenerJson(SERVICE, 'r1')],
      routes: routes('y', 'r1'),
      clusters: [eds('y')],
      endpoints: [at('y', p)],
    }),
  ],
  'a route configuration, with the same cluster': [
    ([p]) => ({
      listeners: [listenerJson(SERVICE, 'r0')],
      routes: routes('x', 'r0'),
      clusters: [eds('x')],
      endpoints: [at('x', p)],
    }),
    ([, p]) => ({
      listeners: [listenerJson(SERVICE, 'r1')],
      routes: routes('x', 'r1'),
      clusters: [eds('x')],
      endpoints: [at('x', p)],
    }),
  ],
  'the assignment of a cluster': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x', 'e0')],
      endpoints: [at('e0', p)],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x', 'e1')],
      endpoints: [at('e1', p)],
    }),
  ],
  'EDS by DNS': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x')],
      endpoints: [at('x', p)],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [dnsClusterJson('x', p, '127.0.0.1')],
    }),
  ],
  'EDS by an aggregate': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x')],
      endpoints: [at('x', p)],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['y']), eds('y')],
      endpoints: [at('y', p)],
    }),
  ],
  'DNS by an aggregate': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [dnsClusterJson('x', p, '127.0.0.1')],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['y']), eds('y')],
      endpoints: [at('y', p)],
    }),
  ],
  'the clusters of an aggregate': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['a', 'b']), eds('a'), eds('b')],
      endpoints: [at('a', p), at('b', p)],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['c', 'd']), eds('c'), eds('d')],
      endpoints: [at('c', p), at('d', p)],
    }),
  ],
  'the first cluster of an aggregate': [
    ([p, q]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['a', 'last']), eds('a'), eds('last')],
      endpoints: [at('a', p), at('last', q)],
    }),
    ([p, q]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['c', 'last']), eds('c'), eds('last')],
      endpoints: [at('c', q), at('last', p)],
    }),
  ],
  'an aggregate in an aggregate': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['i']), aggregateJson('i', ['a']), eds('a')],
      endpoints: [at('a', p)],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['j']), aggregateJson('j', ['b']), eds('b')],
      endpoints: [at('b', p)],
    }),
  ],
  'an aggregate, with its clusters': [
    ([p]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['a']), eds('a')],
      endpoints: [at('a', p)],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: routes('y'),
      clusters: [aggregateJson('y', ['b']), eds('b')],
      endpoints: [at('b', p)],
    }),
  ],
  'the order of two clusters': [
    ([p, q]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['a', 'b']), eds('a'), eds('b')],
      endpoints: [at('a', p), at('b', q)],
    }),
    ([p, q]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [aggregateJson('x', ['b', 'a']), eds('a'), eds('b')],
      endpoints: [at('a', p), at('b', q)],
    }),
  ],
  'the priorities of an assignment': [
    ([p, q]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x')],
      endpoints: [
        endpointsJson('x', [
          { zone: 'a', ports: [p] },
          { zone: 'b', priority: 1, ports: [q] },
        ]),
      ],
    }),
    ([p, q]) => ({
      listeners: listener,
      routes: routes('x'),
      clusters: [eds('x')],
      endpoints: [
        endpointsJson('x', [
          { zone: 'b', ports: [q] },
          { zone: 'a', priority: 1, ports: [p] },
        ]),
      ],
    }),
  ],
  'the clusters of a split': [
    ([p]) => ({
      listeners: listener,
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToSplit({ a: 1, b: 1 })])],
      clusters: [eds('a'), eds('b')],
      endpoints: [at('a', p), at('b', p)],
    }),
    ([, p]) => ({
      listeners: listener,
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToSplit({ b: 1, c: 1 })])],
      clusters: [eds('c'), eds('b')],
      endpoints: [at('c', p), at('b', p)],
    }),
  ],
};

/** One way. The next replacement begins while the last requests and responses of the one before are on their way. */
const LATENCY_MS = 10;

describe.each(VARIANTS)('a correct replacement, with latency (%s)', (_, features) => {
  const records: LogRecord[] = [];
  const logger = { log: (record: LogRecord) => void records.push(record) };
  let mesh: Mesh;
  let link: SlowLink;
  let timers: HeldTimers;

  beforeEach(async () => {
    records.length = 0;
    timers = new HeldTimers('settled-report');
    mesh = await Mesh.start();
    link = await SlowLink.start(Number(mesh.address.split(':')[1]), LATENCY_MS);
    registerAnew({ bootstrap: bootstrapFor(link.address, features), logger });
  });
  afterEach(() => {
    timers.stop();
    link.stop();
    mesh.stop();
    registerAnew({});
  });

  it.each(Object.entries(REPLACEMENTS))('of %s logs nothing above info', async (__, steps) => {
    const ports = [(await mesh.backend('b0')).port, (await mesh.backend('b1')).port] as const;
    const client = mesh.client();
    for (let i = 0; i < 4; i++) {
      const step = steps[i % 2 === 0 ? 0 : 1];
      mesh.serve({ listeners: [], routes: [], clusters: [], endpoints: [], ...step(ports) });
      await eventually(
        () => client.say().catch(() => ''),
        (answer) => answer === `b${i % 2}`,
      );
      await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
    }
    await eventually(
      () => timers.size,
      (size) => size === 0,
    );
    expect(records.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
