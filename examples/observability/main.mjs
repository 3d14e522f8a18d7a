// An application whose metrics are read by Prometheus: clients of two services, their backends, a server that is
// configured by the control plane, and that, all on this machine, with one incident after the other. README.md says how to run it.
import { parseArgs } from 'node:util';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { register } from 'grpc-xds';
import { createMetricProducer, observe } from 'grpc-xds/opentelemetry';
import { playIncidents } from './incidents.mjs';
import { Mesh } from './mesh.mjs';

const { values: flags } = parseArgs({
  options: { port: { type: 'string', default: '9464' }, speed: { type: 'string', default: '1' } },
});
const minuteMs = 60_000 / Number(flags.speed);

/** Those of the dashboard and of the alerts that are off by default. */
const METRICS = [
  'grpc.client.call.retries',
  'grpc.client.call.retry_delay',
  'grpc.lb.outlier_detection.ejections_enforced',
  'grpc.lb.outlier_detection.ejections_unenforced',
  'grpc.lb.wrr.endpoint_weight_not_yet_usable',
  'grpc.lb.wrr.endpoint_weight_stale',
  'grpc.lb.wrr.endpoint_weights',
  'grpc.lb.wrr.rr_fallback',
  'grpc.subchannel.connection_attempts_failed',
  'grpc.subchannel.connection_attempts_succeeded',
  'grpc.subchannel.disconnections',
  'grpc.subchannel.open_connections',
  'grpc.xds_client.connected',
  'grpc.xds_client.resource_updates_invalid',
  'grpc.xds_client.resource_updates_valid',
  'grpc.xds_client.resources',
  'grpc.xds_client.server_failure',
  'grpc_xds.config.apply_duration',
  'grpc_xds.fallback_active',
  'grpc_xds.lb.drops',
  'grpc_xds.lb.endpoints',
  'grpc_xds.lb.priority_in_use',
  'grpc_xds.server.calls_in_progress',
  'grpc_xds.server.connections',
  'grpc_xds.server.refusals',
  'grpc_xds.server.serving',
];

const LABELS = [
  'grpc.disconnect_error',
  'grpc.lb.backend_service',
  'grpc.lb.locality',
  'grpc.security_level',
];

async function exportMetrics(port) {
  const metricProducer = createMetricProducer();
  const exporter = new PrometheusExporter({
    host: '127.0.0.1',
    port,
    preventServerStart: true,
    metricProducers: [metricProducer],
  });
  new MeterProvider({ readers: [exporter] });
  observe({ metricProducer, enableMetrics: METRICS, optionalLabels: LABELS });
  await exporter.startServer();
}

const startedAt = performance.now();
const print = (text) => {
  const minutes = (performance.now() - startedAt) / minuteMs;
  console.log(`${minutes.toFixed(1).padStart(6)} min  ${text}`);
};

const mesh = new Mesh();
await mesh.start();
await exportMetrics(Number(flags.port));
register({ bootstrap: mesh.bootstrap, logger: { level: 'error', log: () => {} } });
mesh.server.start();
mesh.startCalls('xds:///shop.example.com', 100);
// So few that the weights of its endpoints expire between them.
mesh.startCalls('xds:///billing.example.com', 1);
print(`metrics: http://127.0.0.1:${flags.port}/metrics`);
for (;;) {
  await playIncidents(mesh, minuteMs, (name, event) => print(`${event.padEnd(6)} ${name}`));
  print('all is well again');
}
