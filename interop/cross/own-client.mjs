// The client of this package as a program that is directed by lines of JSON; see peers.mjs.
import { createInterface } from 'node:readline';
import { credentials, Metadata } from '@grpc/grpc-js';
import { createXdsChannelCredentials, register } from 'grpc-xds';
import { createMetricProducer, observe } from 'grpc-xds/opentelemetry';
import { createMaintenanceServer, listen } from '../lib/serving.mjs';
import { testing } from '../lib/test-protos.mjs';

const clients = new Map();

const clientOf = ({ target, secure = false }) => {
  const existing = clients.get(target);
  if (existing !== undefined) return existing;
  const insecure = credentials.createInsecure();
  const channelCredentials = secure ? createXdsChannelCredentials(insecure) : insecure;
  const client = new testing.TestService(target, channelCredentials);
  clients.set(target, client);
  return client;
};

/** One call: who answered, and how it ended. */
const callOnce = (client, { method = 'UnaryCall', headers = {}, timeoutMs, failFast = false }) =>
  new Promise((resolve) => {
    const metadata = new Metadata({ waitForReady: !failFast });
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
    let peer = '';
    const call = client[method](
      {},
      metadata,
      { deadline: Date.now() + timeoutMs },
      () => undefined,
    );
    call.on('metadata', (received) => (peer = String(received.get('hostname')[0] ?? '')));
    call.on('status', ({ code, details }) => resolve({ code, details, peer }));
  });

const callMany = async (client, command) => {
  const counts = { peers: {}, codes: {}, message: '' };
  for (let i = 0; i < command.count; i++) {
    const { code, details, peer } = await callOnce(client, command);
    counts.codes[code] = (counts.codes[code] ?? 0) + 1;
    if (code === 0) counts.peers[peer] = (counts.peers[peer] ?? 0) + 1;
    else counts.message = details;
  }
  return counts;
};

const metricProducer = createMetricProducer();

/** `DataPointType` of `@opentelemetry/sdk-metrics`. */
const KINDS = { 0: 'histogram', 2: 'gauge', 3: 'counter' };

const toSeries = ({ attributes: labels, value }) =>
  typeof value === 'number'
    ? { labels, value, sum: 0 }
    : { labels, value: value.count, sum: value.sum };

const toMetric = ({ descriptor: { name, unit }, dataPointType, isMonotonic, dataPoints }) => {
  const kind = isMonotonic === false ? 'up-down-counter' : KINDS[dataPointType];
  const buckets = dataPoints[0]?.value.buckets?.boundaries ?? null;
  return { name, unit, kind, buckets, series: dataPoints.map(toSeries) };
};

const collect = async () => {
  const { resourceMetrics } = await metricProducer.collect();
  return { metrics: resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics.map(toMetric)) };
};

const startAdmin = async () => {
  const port = await listen(createMaintenanceServer().server, '127.0.0.1:0');
  return { address: `127.0.0.1:${port}` };
};

const handle = (command) => {
  const { do: action, target } = command;
  if (action === 'metrics') return collect();
  if (action === 'admin') return startAdmin();
  if (action === 'call') return callMany(clientOf(command), command);
  if (action === 'observe') {
    const { metrics: enableMetrics, optionalLabels } = command;
    observe({ metricProducer, enableMetrics, optionalLabels });
  } else if (action === 'watch') {
    clientOf(command).getChannel().getConnectivityState(true);
  } else if (action === 'close') {
    clients.get(target)?.close();
    clients.delete(target);
  }
  return {};
};

const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

register();
say({});
for await (const line of createInterface(process.stdin)) say(await handle(JSON.parse(line)));
process.exit(0);
