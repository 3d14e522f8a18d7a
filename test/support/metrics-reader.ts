import {
  DataPointType,
  MeterProvider,
  MetricReader,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import {
  createMetricProducer,
  observe,
  type ObserveOptions,
} from '../../src/observe/opentelemetry';
import type { Closable } from '../../src/util/handle';

class TestReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** One series of a metric. A histogram shows its count as value. */
export interface CollectedSeries {
  readonly labels: Readonly<Record<string, unknown>>;
  readonly value: number;
  /** Of a histogram. */
  readonly sum: number | undefined;
}

/** The two ways to record. */
export const WAYS = ['MeterProvider', 'MetricProducer'] as const;

/** A real reader of the SDK, and the observation it reads. */
export class MetricsReader {
  readonly handle: Closable;
  private readonly reader: TestReader;
  private readonly provider: MeterProvider;

  constructor(
    way: (typeof WAYS)[number],
    options: Omit<ObserveOptions, 'meterProvider' | 'metricProducer'> = {},
  ) {
    const producer = createMetricProducer();
    // The types of the SDK are those of the producer: no other check needs to say so.
    const metricProducers: MetricProducer[] = way === 'MetricProducer' ? [producer] : [];
    this.reader = new TestReader({ metricProducers });
    this.provider = new MeterProvider({ readers: [this.reader] });
    this.handle = observe({
      ...options,
      ...(way === 'MetricProducer'
        ? { metricProducer: producer }
        : { meterProvider: this.provider }),
    });
  }

  /** Collects the metrics of this package, by name. */
  async metrics(): Promise<ReadonlyMap<string, MetricData>> {
    const { resourceMetrics, errors } = await this.reader.collect();
    if (errors.length > 0) throw new Error('collecting failed', { cause: errors });
    const own = resourceMetrics.scopeMetrics.filter(({ scope }) => scope.name === 'grpc-xds');
    const metrics = own.flatMap((scope) => scope.metrics);
    return new Map(metrics.map((metric) => [metric.descriptor.name, metric]));
  }

  /** Collects the series of a metric, ordered by their labels; none if nothing was recorded. */
  async series(name: string): Promise<readonly CollectedSeries[]> {
    const metric = (await this.metrics()).get(name);
    const all = metric === undefined ? [] : seriesOf(metric);
    const key = ({ labels }: CollectedSeries) => JSON.stringify(Object.entries(labels).sort());
    return [...all].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  async stop(): Promise<void> {
    this.handle.close();
    await this.provider.shutdown();
  }
}

function seriesOf(metric: MetricData): readonly CollectedSeries[] {
  switch (metric.dataPointType) {
    case DataPointType.HISTOGRAM:
      return metric.dataPoints.map(({ attributes, value: { count, sum } }) => {
        return { labels: attributes, value: count, sum };
      });
    case DataPointType.SUM:
    case DataPointType.GAUGE:
      return metric.dataPoints.map(({ attributes, value }) => {
        return { labels: attributes, value, sum: undefined };
      });
    default:
      throw new Error(`${metric.descriptor.name} is of an unexpected kind`);
  }
}
