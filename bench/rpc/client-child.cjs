// Clients of one process, by their targets, which `xds:` is resolved for by a library. Answers with the CPU time of calls.
const { fork } = require('node:child_process');
const { join } = require('node:path');
const grpc = require('@grpc/grpc-js');
const { answerWithCpuTime, roundRobinOptions } = require('../support/timed-calls.cjs');

const [library, observing, ...targets] = process.argv.slice(2);
require(library === 'grpc-xds' ? '../../dist/index.js' : library).register();
if (observing.endsWith('page')) servePage();
else if (observing !== '') observe();

const clients = targets.map((target, index) => {
  // An option of its own for each client, so that none shares the connections of another.
  const options = { ...roundRobinOptions, 'bench.client': index };
  return new grpc.Client(target, grpc.credentials.createInsecure(), options);
});

/** Records metrics, as an application would that is scraped: nothing is collected during the measurement. */
function observe() {
  const { MeterProvider } = require('@opentelemetry/sdk-metrics');
  const { PrometheusExporter } = require('@opentelemetry/exporter-prometheus');
  const { createMetricProducer, observe } = require('../../dist/observe/opentelemetry/index.js');
  const metricProducer = createMetricProducer();
  const metricProducers = [metricProducer];
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers });
  const meterProvider = new MeterProvider({ readers: [reader] });
  observe(observing === 'metricProducer' ? { metricProducer } : { meterProvider });
}

/** Serves the live page; the process that reads an open one is another, as a browser is. */
function servePage() {
  const { serveAdminPage } = require('../../packages/page/dist/index.js');
  serveAdminPage({ port: 0 }).then((page) => {
    const { url } = page;
    if (observing === 'closed page') void page.close();
    if (observing !== 'open page') return;
    const reader = fork(join(__dirname, '..', 'page', 'reader-child.cjs'), [url]);
    process.on('exit', () => reader.kill());
  });
}

answerWithCpuTime(clients, library);
