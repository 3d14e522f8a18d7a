// The same calls by this package and by grpc-go, served by one control plane: the metrics must have the same names, units,
// labels and buckets, and where nothing depends on time the same values.
import { isDeepStrictEqual } from 'node:util';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  route,
  routeConfig,
  SERVICE,
} from '../harness/resources.mjs';
import { call, until } from './judging.mjs';

const TARGET = `xds:///${SERVICE}`;
const LABELS = [
  'grpc.lb.locality',
  'grpc.lb.backend_service',
  'grpc.security_level',
  'grpc.disconnect_error',
];

/** By name: whether the values must be equal, or the labels alone. */
const METRICS = {
  'grpc.client.attempt.started': 'values',
  'grpc.client.attempt.duration': 'counts',
  'grpc.client.attempt.sent_total_compressed_message_size': 'values',
  'grpc.client.attempt.rcvd_total_compressed_message_size': 'values',
  'grpc.client.call.duration': 'counts',
  'grpc.xds_client.connected': 'values',
  // How many responses there are depends on how a client batches its subscriptions.
  'grpc.xds_client.resource_updates_valid': 'labels',
  'grpc.xds_client.resource_updates_invalid': 'labels',
  'grpc.xds_client.resources': 'values',
  'grpc.subchannel.connection_attempts_succeeded': 'values',
  'grpc.subchannel.open_connections': 'values',
};

/** Those that are off by default. */
const ENABLED = Object.keys(METRICS).filter((name) => !name.startsWith('grpc.client.'));

// Where grpc-go 1.85 differs from the gRFCs, which this package follows.

/** The units of gRFCs A78 and A94. */
const UNITS = {
  'grpc.xds_client.connected': '{bool}',
  'grpc.subchannel.open_connections': '{connection}',
};

/** gRFC A78 has the types of resources as in their URLs. */
const RESOURCE_TYPES = {
  ListenerResource: 'envoy.config.listener.v3.Listener',
  RouteConfigResource: 'envoy.config.route.v3.RouteConfiguration',
  ClusterResource: 'envoy.config.cluster.v3.Cluster',
  EndpointsResource: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};

/** By gRFC A89, a dropped call has the cluster that dropped it as its label. */
const withCluster = (labels) =>
  labels['grpc.lb.backend_service'] === '' && labels['grpc.status'] === 'UNAVAILABLE'
    ? { ...labels, 'grpc.lb.backend_service': 'dropped' }
    : labels;

/** gRFC A94 has `none`. */
const SECURITY_LEVELS = { NoSecurity: 'none' };

const translate = (label, names) => (labels) => {
  const name = names[labels[label]];
  return name === undefined ? labels : { ...labels, [label]: name };
};

const withType = translate('grpc.xds.resource_type', RESOURCE_TYPES);
const withLevel = translate('grpc.security_level', SECURITY_LEVELS);

/** Returns a metric of grpc-go as the gRFCs define it. */
const corrected = (metric) =>
  metric && {
    ...metric,
    unit: UNITS[metric.name] ?? metric.unit,
    series: metric.series.map((series) => {
      return { ...series, labels: withLevel(withType(withCluster(series.labels))) };
    }),
  };

const DROPS = { drop_overloads: [{ category: 'all', drop_percentage: { numerator: 100 } }] };

const byHeader = (name, to) => route({ prefix: '', headers: [{ name, present_match: true }] }, to);

const resources = (servers) => ({
  listeners: [listener()],
  routes: [routeConfig([byHeader('dropped', 'dropped'), byHeader('main', 'main')])],
  clusters: [cluster('main'), cluster('dropped')],
  endpoints: [
    assignment('main', { servers: servers.slice(0, 2) }),
    { ...assignment('dropped', { servers: servers.slice(2, 3) }), policy: DROPS },
  ],
});

/** Ten calls that are answered, of which three have another method; five that are dropped, two without a route. */
const makeCalls = async (client) => {
  const failing = { do: 'call', target: TARGET, timeoutMs: 20_000, failFast: true };
  await call(client, TARGET, 7, { headers: { main: '1' } });
  await call(client, TARGET, 3, { headers: { main: '1' }, method: 'EmptyCall' });
  await client.ask({ ...failing, count: 5, headers: { dropped: '1' } });
  await client.ask({ ...failing, count: 2, headers: {} });
};

const metricsOf = async (client) => {
  const { metrics } = await client.ask({ do: 'metrics' });
  return new Map(metrics.map((metric) => [metric.name, metric]));
};

const seriesOf = (metric, what) =>
  (metric?.series ?? [])
    .map(({ labels, value, sum }) => {
      const entries = Object.entries(labels).sort();
      if (what === 'labels') return JSON.stringify(entries);
      return JSON.stringify([...entries, value, ...(what === 'values' ? [sum] : [])]);
    })
    .sort();

/** Waits until the client has rejected the cluster, and has a connection to each server. */
const collect = (client) =>
  until(
    () => metricsOf(client),
    (metrics) =>
      metrics.has('grpc.xds_client.resource_updates_invalid') &&
      seriesOf(metrics.get('grpc.subchannel.open_connections'), 'labels').length > 0 &&
      metrics
        .get('grpc.xds_client.resources')
        ?.series.some(({ labels }) => labels['grpc.xds.cache_state'] === 'nacked_but_cached'),
    'a rejected cluster',
  );

const compare = (name, what, own, other) => {
  const shape = ({ unit, kind, buckets } = {}) => ({ unit, kind, buckets: buckets ?? null });
  const [ownShape, otherShape] = [shape(own), shape(other)];
  if (!isDeepStrictEqual(ownShape, otherShape)) {
    throw new Error(`${name}: ${JSON.stringify(ownShape)}, not ${JSON.stringify(otherShape)}`);
  }
  const [ownSeries, otherSeries] = [seriesOf(own, what), seriesOf(other, what)];
  if (isDeepStrictEqual(ownSeries, otherSeries)) return;
  throw new Error(`${name}:\n${ownSeries.join('\n')}\ngrpc-go:\n${otherSeries.join('\n')}`);
};

const run = async ({ peers, servers, step }) => {
  const controlPlane = new ControlPlane({ snapshot: Snapshot.from(resources(servers)) });
  const { address } = await controlPlane.start();
  try {
    const clients = [];
    for (const name of ['node', 'go']) {
      const client = await peers.client(name, address);
      await client.ask({ do: 'observe', metrics: ENABLED, optionalLabels: LABELS });
      await makeCalls(client);
      clients.push(client);
    }
    const bad = { ...resources(servers), routes: [routeConfig([anyRoute('main')])] };
    bad.clusters = [cluster('main', { lb_policy: 'MAGLEV' }), cluster('dropped')];
    controlPlane.setSnapshot(Snapshot.from(bad), { allowInconsistent: true });
    await Promise.all(clients.map(collect));
    // The cluster that no route names any more is released at different times.
    const resourcesOf = (metrics) => seriesOf(metrics.get('grpc.xds_client.resources'), 'values');
    const [own, other] = await until(
      () => Promise.all(clients.map(metricsOf)),
      ([first, second]) =>
        isDeepStrictEqual(
          resourcesOf(first),
          seriesOf(corrected(second.get('grpc.xds_client.resources')), 'values'),
        ),
      'the same resources',
    );
    for (const [name, what] of Object.entries(METRICS)) {
      await step(name, () => compare(name, what, own.get(name), corrected(other.get(name))));
    }
    for (const client of clients) await client.stop();
  } finally {
    await controlPlane.close();
  }
};

export const metricsCases = [{ name: 'the same metrics as grpc-go', languages: ['go'], run }];
