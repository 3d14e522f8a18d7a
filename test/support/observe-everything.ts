import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { createMetricProducer, observe } from '../../src/observe/opentelemetry';
import { allInstruments } from '../../src/observe/stats/instrument-table';

/** Observes every channel of a test file, with all metrics, all labels and traces. */
export function observeEverything(): void {
  observe({
    metricProducer: createMetricProducer(),
    tracerProvider: new BasicTracerProvider(),
    enableMetrics: allInstruments.map(({ name }) => name),
    optionalLabels: allInstruments.flatMap(({ optionalLabels }) => optionalLabels),
  });
}
