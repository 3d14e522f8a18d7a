/**
 * Metrics and traces of gRPC and xDS for OpenTelemetry: `import { observe } from 'grpc-xds/opentelemetry'`.
 *
 * @packageDocumentation
 */
export { observe } from './observe';
export type { ObserveOptions } from './observe';
export type { Closable } from '../../util/handle';
export type { InstrumentOptions } from './metrics-plugin';
export { createObservedChannel } from './observe';
export { observeServer } from './observe';
export { withCallLabel } from './observe';
export { GrpcTraceBinPropagator } from './tracing';
export { createMetricProducer } from './metric-producer';
export type {
  EmptyResource,
  GrpcMetricProducer,
  HistogramValue,
  MetricPoint,
  ProducedDescriptor,
  ProducedMetric,
  ProducedMetrics,
} from './metric-producer';
