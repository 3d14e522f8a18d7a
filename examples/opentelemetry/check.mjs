// The instrumentation of OpenTelemetry beside that of this package: @opentelemetry/instrumentation-grpc makes a span for a
// call, and observe() one for each of its attempts, with metrics, in the same trace.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { GrpcInstrumentation } from '@opentelemetry/instrumentation-grpc';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { callBothBackends } from '../echo/both-backends.mjs';

const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
registerInstrumentations({ tracerProvider, instrumentations: [new GrpcInstrumentation()] });

// After the instrumentation, which changes grpc-js while it is loaded.
const require = createRequire(import.meta.url);
const grpc = require('@grpc/grpc-js');
const protoLoader = require('@grpc/proto-loader');
const { register } = require('grpc-xds');
const { createMetricProducer, observe } = require('grpc-xds/opentelemetry');

register();
const metricProducer = createMetricProducer();
observe({ tracerProvider, metricProducer });

const proto = fileURLToPath(new URL('../echo/echo.proto', import.meta.url));
const { echo } = grpc.loadPackageDefinition(protoLoader.loadSync(proto));
const client = new echo.Echo('xds:///echo', grpc.credentials.createInsecure());
const say = promisify(client.say).bind(client);
await callBothBackends(async () => (await say({ text: 'hello' })).backend);
client.close();

const spans = exporter.getFinishedSpans();
const scopes = new Map();
for (const { instrumentationScope } of spans) {
  scopes.set(instrumentationScope.name, (scopes.get(instrumentationScope.name) ?? 0) + 1);
}
const theirs = spans.filter(({ instrumentationScope: { name } }) =>
  name.includes('instrumentation-grpc'),
);
const ours = spans.filter(({ instrumentationScope: { name } }) => name.includes('grpc-xds'));
const traces = new Set(theirs.map((span) => span.spanContext().traceId));
const { resourceMetrics } = await metricProducer.collect();
const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
const duration = metrics.find(({ descriptor }) => descriptor.name === 'grpc.client.call.duration');
const calls = duration?.dataPoints.reduce((sum, { value }) => sum + value.count, 0);

console.log(Object.fromEntries(scopes), `${calls} calls measured`);
const isInTheirs = ours.every((span) => traces.has(span.spanContext().traceId));
if (theirs.length < 20 || ours.length < 20 || !isInTheirs || calls !== 20) process.exitCode = 1;
