// One variant of a client. Answers each message, a number of calls, with the CPU time they took.
const { fork } = require('node:child_process');
const { join } = require('node:path');
const grpc = require('@grpc/grpc-js');
const { answerWithCpuTime, roundRobinOptions } = require('../support/timed-calls.cjs');

const [variant, target, observing] = process.argv.slice(2);
if (variant === 'grpc-xds') require('../../dist/index.js').register();
else if (variant !== 'plain') require(variant).register();
if (observing === 'page' || observing === 'open page') servePage();
else if (observing !== undefined) observe();

const client = new grpc.Client(target, grpc.credentials.createInsecure(), roundRobinOptions);

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

answerWithCpuTime(client, variant);
