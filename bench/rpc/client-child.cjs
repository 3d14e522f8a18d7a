// One variant of a client. Answers each message, a number of calls, with the CPU time they took.
const { fork } = require('node:child_process');
const { join } = require('node:path');
const grpc = require('@grpc/grpc-js');
const { echoService } = require('../support/echo-service.cjs');

const CONCURRENCY = 16;
const [variant, target, observing] = process.argv.slice(2);
if (variant === 'grpc-xds') require('../../dist/index.js').register();
else if (variant !== 'plain') require(variant).register();
if (observing === 'page' || observing === 'open page') servePage();
else if (observing !== undefined) observe();

const client = new grpc.Client(target, grpc.credentials.createInsecure(), {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
});
const { path, requestSerialize, responseDeserialize } = echoService.say;
const body = Buffer.alloc(32, 1);

/** Records metrics, as an application would that is scraped: nothing is collected during the measurement. */
function observe() {
  const { MeterProvider } = require('@opentelemetry/sdk-metrics');
  const { PrometheusExporter } = require('@opentelemetry/exporter-prometheus');
  const { createMetricProducer, observe } = require('../../dist/opentelemetry/index.js');
  const metricProducer = createMetricProducer();
  const metricProducers = [metricProducer];
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers });
  const meterProvider = new MeterProvider({ readers: [reader] });
  observe(observing === 'metricProducer' ? { metricProducer } : { meterProvider });
}

/** Serves the live page; the process that reads an open one is another, as a browser is. */
function servePage() {
  const { serveAdminPage } = require('../../dist/index.js');
  serveAdminPage({ port: 0 }).then(({ url }) => {
    if (observing === 'page') return;
    const reader = fork(join(__dirname, '..', 'page', 'reader-child.cjs'), [url]);
    process.on('exit', () => reader.kill());
  });
}

function call() {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, body, (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

async function callMany(count) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

process.on('message', async (count) => {
  const before = process.cpuUsage();
  await callMany(count);
  const { user, system } = process.cpuUsage(before);
  process.send({ microseconds: (user + system) / count });
});

callMany(5000).then(
  () => process.send('ready'),
  (error) => {
    console.error(variant, error.message);
    process.exit(1);
  },
);
