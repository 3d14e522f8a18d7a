import { type LogRecord } from '../../src';
import { eventually } from '../support/eventually';
import { aggregateJson, dnsClusterJson } from '../support/failover';
import { HeldTimers } from '../support/held-timers';
import {
  bootstrapFor,
  SERVICE,
  DISTANT_VARIANTS,
  type MeshResources,
  registerAnew,
  useMesh,
} from '../support/mesh';
import { SlowLink } from './slow-link';
import {
  routeToSplit,
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

/** The resources of one step of a replacement. Default: a listener with routes by RDS to the cluster `x`. */
interface Step extends Partial<MeshResources> {
  readonly clusters: readonly Json[];
}
type Ports = readonly [first: number, second: number];

const inline = (cluster: string): Json => {
  const { api_listener: outer, ...rest } = listenerJson(SERVICE) as { api_listener: Json };
  const { api_listener: manager } = outer as { api_listener: Json };
  const route_config = routeConfigJson('inline', [routeToCluster(cluster)]);
  delete manager.rds;
  return { ...rest, api_listener: { api_listener: { ...manager, route_config } } };
};
const byRds = (name: string, cluster: string) => ({
  listeners: [listenerJson(SERVICE, name)],
  routes: [routeConfigJson(name, [routeToCluster(cluster)])],
});
const split = (...clusters: readonly string[]) => ({
  routes: [
    routeConfigJson(`${SERVICE}-routes`, [
      routeToSplit(Object.fromEntries(clusters.map((name) => [name, 1]))),
    ]),
  ],
});

/** Clusters with one endpoint each. */
const eds = (ports: Readonly<Record<string, number>>): Step => ({
  clusters: Object.keys(ports).map((name) => edsClusterJson(name)),
  endpoints: Object.entries(ports).map(([name, port]) => at(name, port)),
});
const at = (name: string, port: number): Json =>
  endpointsJson(name, [{ zone: 'a', ports: [port] }]);
/** A cluster whose endpoints are in a resource of another name. */
const edsFrom = (service_name: string, port: number): Step => ({
  clusters: [
    edsClusterJson('x', { eds_cluster_config: { eds_config: { ads: {} }, service_name } }),
  ],
  endpoints: [at(service_name, port)],
});
const dns = (port: number): Step => ({ clusters: [dnsClusterJson('x', port, '127.0.0.1')] });
/** An aggregate of clusters, with one endpoint each. */
const aggregate = (name: string, ports: Readonly<Record<string, number>>): Step => {
  const { clusters, ...rest } = eds(ports);
  return { ...rest, clusters: [aggregateJson(name, Object.keys(ports)), ...clusters] };
};
/** An aggregate in an aggregate. */
const nested = (inner: string, ports: Readonly<Record<string, number>>): Step => {
  const { clusters, ...rest } = aggregate(inner, ports);
  return { ...rest, clusters: [aggregateJson('x', [inner]), ...clusters] };
};
const priorities = (...ports: readonly number[]): Step => ({
  clusters: [edsClusterJson('x')],
  endpoints: [
    endpointsJson(
      'x',
      ports.map((port, priority) => ({ zone: `${port}`, priority, ports: [port] })),
    ),
  ],
});

/** What is replaced: from one step, which calls of the first backend answer, to the other, and back. */
const REPLACEMENTS: Record<string, (ports: Ports) => readonly [Step, Step]> = {
  'RDS by inline routes, with another cluster': ([p, q]) => [
    eds({ x: p }),
    { listeners: [inline('y')], routes: [], ...eds({ y: q }) },
  ],
  'RDS by inline routes, with the same cluster': ([p, q]) => [
    eds({ x: p }),
    { listeners: [inline('x')], routes: [], ...eds({ x: q }) },
  ],
  'a route configuration, with its cluster': ([p, q]) => [
    { ...byRds('r0', 'x'), ...eds({ x: p }) },
    { ...byRds('r1', 'y'), ...eds({ y: q }) },
  ],
  'a route configuration, with the same cluster': ([p, q]) => [
    { ...byRds('r0', 'x'), ...eds({ x: p }) },
    { ...byRds('r1', 'x'), ...eds({ x: q }) },
  ],
  'the assignment of a cluster': ([p, q]) => [edsFrom('e0', p), edsFrom('e1', q)],
  'EDS by DNS': ([p, q]) => [eds({ x: p }), dns(q)],
  'EDS by an aggregate': ([p, q]) => [eds({ x: p }), aggregate('x', { y: q })],
  'DNS by an aggregate': ([p, q]) => [dns(p), aggregate('x', { y: q })],
  'the clusters of an aggregate': ([p, q]) => [
    aggregate('x', { a: p, b: p }),
    aggregate('x', { c: q, d: q }),
  ],
  'the first cluster of an aggregate': ([p, q]) => [
    aggregate('x', { a: p, last: q }),
    aggregate('x', { c: q, last: p }),
  ],
  'an aggregate in an aggregate': ([p, q]) => [nested('i', { a: p }), nested('j', { b: q })],
  'an aggregate, with its clusters': ([p, q]) => [
    aggregate('x', { a: p }),
    { ...byRds(`${SERVICE}-routes`, 'y'), ...aggregate('y', { b: q }) },
  ],
  'the order of two clusters': ([p, q]) => [
    aggregate('x', { a: p, b: q }),
    aggregate('x', { b: q, a: p }),
  ],
  'the priorities of an assignment': ([p, q]) => [priorities(p, q), priorities(q, p)],
  'the clusters of a split': ([p, q]) => [
    { ...split('a', 'b'), ...eds({ a: p, b: p }) },
    { ...split('b', 'c'), ...eds({ c: q, b: q }) },
  ],
};

/** One way. The next replacement begins while the last requests and responses of the one before are on their way. */
const LATENCY_MS = 10;

// One stream for everything, and as many as there can be.
describe.each(DISTANT_VARIANTS)('a correct replacement, with latency (%s)', (_, features) => {
  const records: LogRecord[] = [];
  const logger = { log: (record: LogRecord) => void records.push(record) };
  const mesh = useMesh();
  let link: SlowLink;
  let timers: HeldTimers;

  beforeEach(async () => {
    records.length = 0;
    timers = new HeldTimers('settled-report');
    link = await SlowLink.start(Number(mesh.address.split(':')[1]), LATENCY_MS);
    registerAnew({ bootstrap: bootstrapFor(link.address, features), logger });
  });
  afterEach(() => {
    timers.stop();
    link.stop();
    registerAnew({});
  });

  it.each(Object.entries(REPLACEMENTS))('of %s logs nothing above info', async (__, replace) => {
    const [first, second] = replace([
      (await mesh.backend('b0')).port,
      (await mesh.backend('b1')).port,
    ]);
    const usual = { ...byRds(`${SERVICE}-routes`, 'x'), endpoints: [] };
    const client = mesh.client();
    for (let i = 0; i < 4; i++) {
      mesh.serve({ ...usual, ...(i % 2 === 0 ? first : second) });
      await eventually(() => client.say().catch(() => ''), `b${i % 2}`);
      await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
    }
    await eventually(() => timers.size, 0);
    expect(records.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
