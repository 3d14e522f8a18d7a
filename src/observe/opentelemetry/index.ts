/**
 * Metrics and traces of gRPC and xDS for OpenTelemetry: `import { observe } from 'grpc-xds/opentelemetry'`.
 *
 * @packageDocumentation
 */
export { observe } from './observe';
export type { ObserveOptions } from './observe';
export type { InstrumentOptions } from './instrument-choice';
export { createObservedChannel } from './observed-channel';
export { withCallLabel } from './call-label';
export { GrpcTraceBinPropagator } from './trace-bin-propagator';
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
