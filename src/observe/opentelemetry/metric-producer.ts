import type { Attributes, HrTime, ValueType } from '@opentelemetry/api';
import type { Instrument } from '../stats/instrument-table';
import { systemClock, type Clock } from '../../util/clock';
import { checkOptions } from '../../util/check-arguments';
import { PACKAGE_VERSION } from '../../util/version';
import { FlatBackend, FlatHistogram, type FlatSum } from './flat-backend';
import { SCOPE, valueTypeOf } from './meter-backend';

/** Cumulative, as `AggregationTemporality` of `@opentelemetry/sdk-metrics`. */
const CUMULATIVE = 1;

/** As `DataPointType` of `@opentelemetry/sdk-metrics`. */
const DataPointKind = { HISTOGRAM: 0, GAUGE: 2, SUM: 3 } as const;

/** One series as of a collection. */
export interface MetricPoint<T> {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly attributes: Attributes;
  readonly value: T;
}

/** The value of a histogram. */
export interface HistogramValue {
  readonly buckets: { boundaries: number[]; counts: number[] };
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
}

/** The name of a metric. */
export interface ProducedDescriptor {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly valueType: ValueType;
}

/** One metric with all its series, always cumulative: `MetricData` of `@opentelemetry/sdk-metrics`. */
export type ProducedMetric =
  | {
      readonly descriptor: ProducedDescriptor;
      readonly aggregationTemporality: typeof CUMULATIVE;
      readonly dataPointType: typeof DataPointKind.SUM;
      readonly dataPoints: MetricPoint<number>[];
      readonly isMonotonic: boolean;
    }
  | {
      readonly descriptor: ProducedDescriptor;
      readonly aggregationTemporality: typeof CUMULATIVE;
      readonly dataPointType: typeof DataPointKind.GAUGE;
      readonly dataPoints: MetricPoint<number>[];
    }
  | {
      readonly descriptor: ProducedDescriptor;
      readonly aggregationTemporality: typeof CUMULATIVE;
      readonly dataPointType: typeof DataPointKind.HISTOGRAM;
      readonly dataPoints: MetricPoint<HistogramValue>[];
    };

/** A resource without attributes. Readers use the resource of their `MeterProvider`. */
export interface EmptyResource {
  readonly attributes: Attributes;
  merge(other: EmptyResource | null): EmptyResource;
  getRawAttributes(): [];
}

/** The result of a collection: `CollectionResult` of `@opentelemetry/sdk-metrics`. */
export interface ProducedMetrics {
  readonly resourceMetrics: {
    readonly resource: EmptyResource;
    readonly scopeMetrics: {
      scope: { name: string; version: string };
      metrics: ProducedMetric[];
    }[];
  };
  readonly errors: unknown[];
}

/**
 * Aggregates metrics in this package, which is several times cheaper than a `MeterProvider`, but has no views and exemplars. Made
 * for the option `metricProducers` of every `MetricReader`. Values are cumulative from the first record on, whatever temporality
 * the reader prefers.
 */
export interface GrpcMetricProducer {
  /** Returns all series as of now. Called by a `MetricReader`. */
  collect(): Promise<ProducedMetrics>;
}

/**
 * Creates the producer for `observe({ metricProducer })` and for the `metricProducers` of a reader.
 *
 * @param options There are none.
 * @throws XdsError if an option is given.
 */
export function createMetricProducer(
  options: Readonly<Record<string, never>> = {},
): GrpcMetricProducer {
  checkOptions('createMetricProducer()', options, {});
  return new FlatMetricProducer(systemClock);
}

/** The producer, with the backend that it reads. */
export class FlatMetricProducer implements GrpcMetricProducer {
  readonly backend: FlatBackend;

  constructor(private readonly clock: Pick<Clock, 'now'>) {
    this.backend = new FlatBackend(clock);
  }

  collect(): Promise<ProducedMetrics> {
    const nowMs = this.clock.now();
    const metrics = [...this.sums(nowMs), ...this.gauges(nowMs)];
    const scope = { name: SCOPE, version: PACKAGE_VERSION };
    const resourceMetrics = { resource: emptyResource, scopeMetrics: [{ scope, metrics }] };
    return Promise.resolve({ resourceMetrics, errors: [] });
  }

  private *sums(nowMs: number): IterableIterator<ProducedMetric> {
    for (const [instrument, series] of this.backend.entries()) {
      const all = [...series.values()].filter(({ isEmpty }) => !isEmpty);
      if (all.length === 0) continue;
      const base = describe(instrument);
      if (instrument.kind === 'histogram') {
        const dataPoints = all.flatMap((one) =>
          one instanceof FlatHistogram ? histogramPoint(one, nowMs) : [],
        );
        yield { ...base, dataPointType: DataPointKind.HISTOGRAM, dataPoints };
      } else {
        const dataPoints = all.flatMap((one) =>
          one instanceof FlatHistogram ? [] : sumPoint(one, nowMs),
        );
        const isMonotonic = instrument.kind === 'counter';
        yield { ...base, dataPointType: DataPointKind.SUM, dataPoints, isMonotonic };
      }
    }
  }

  private *gauges(nowMs: number): IterableIterator<ProducedMetric> {
    const time = toHrTime(nowMs);
    for (const [instrument, values] of this.backend.readGauges()) {
      const dataPoints = Array.from(values.values(), ({ value, labels }) => {
        return { startTime: time, endTime: time, attributes: labels, value };
      });
      yield { ...describe(instrument), dataPointType: DataPointKind.GAUGE, dataPoints };
    }
  }
}

const emptyResource: EmptyResource = {
  attributes: {},
  merge: (other) => other ?? emptyResource,
  getRawAttributes: () => [],
};

function describe(
  instrument: Instrument,
): Pick<ProducedMetric, 'descriptor' | 'aggregationTemporality'> {
  const { name, description, unit } = instrument;
  const descriptor = { name, description, unit, valueType: valueTypeOf(instrument) };
  return { descriptor, aggregationTemporality: CUMULATIVE };
}

function sumPoint({ labels, value, startedAtMs }: FlatSum, nowMs: number): MetricPoint<number> {
  const [startTime, endTime] = [toHrTime(startedAtMs), toHrTime(nowMs)];
  return { startTime, endTime, attributes: labels, value };
}

function histogramPoint(series: FlatHistogram, nowMs: number): MetricPoint<HistogramValue> {
  const { labels, startedAtMs, bounds, counts, sum, count, min, max } = series;
  return {
    startTime: toHrTime(startedAtMs),
    endTime: toHrTime(nowMs),
    attributes: labels,
    value: { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count, min, max },
  };
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
