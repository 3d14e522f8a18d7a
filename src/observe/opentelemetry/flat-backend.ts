import type { Instrument } from '../stats/instrument-table';
import type { LabelValues, Series } from '../stats/stats-plugin';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';

/** As many as the SDK of OpenTelemetry keeps of one instrument. */
export const MAX_SERIES = 2000;

/** The series of all label values beyond `MAX_SERIES`, as the SDK marks it. */
const OVERFLOW: Readonly<Record<string, boolean>> = { 'otel.metric.overflow': true };

/** The labels of a series. */
export type SeriesLabels = Readonly<Record<string, string | boolean>>;

/** A value that counts up, or up and down. */
export class FlatSum implements Series {
  value = 0;
  /** Whether nothing was recorded. */
  isEmpty = true;

  constructor(
    readonly labels: SeriesLabels,
    readonly startedAtMs: number,
  ) {}

  add(value: number): void {
    this.value += value;
    this.isEmpty = false;
  }
}

/** The values of a histogram, counted by bucket. */
export class FlatHistogram implements Series {
  /** One more than the bounds. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;
  min = Infinity;
  max = -Infinity;

  /** @param bounds Upper bounds of the buckets, inclusive, ascending. */
  constructor(
    readonly labels: SeriesLabels,
    readonly startedAtMs: number,
    readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Whether nothing was recorded. */
  get isEmpty(): boolean {
    return this.count === 0;
  }

  add(value: number): void {
    const { bounds, counts } = this;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value > (bounds[middle] ?? Infinity)) low = middle + 1;
      else high = middle;
    }
    counts[low] = (counts[low] ?? 0) + 1;
    this.count++;
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }
}

/** A gauge as it was read. */
export interface GaugeValue {
  readonly value: number;
  readonly labels: LabelValues;
}

/** The series of one instrument, by their labels. */
type SeriesOf = Map<string, FlatSum | FlatHistogram>;

/** Aggregates in the process, from its start, without the work per record of the SDK of OpenTelemetry. */
export class FlatBackend implements MetricsBackend {
  private readonly byInstrument = new Map<Instrument, SeriesOf>();
  private readonly readers = new Set<ReadGauges>();

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  series(instrument: Instrument, labels: LabelValues): Series {
    let all = this.byInstrument.get(instrument);
    if (all === undefined) {
      all = new Map();
      this.byInstrument.set(instrument, all);
    }
    const key = JSON.stringify(Object.values(labels));
    const known = all.get(key);
    if (known !== undefined) return known;
    return all.size < MAX_SERIES - 1
      ? this.create(all, key, instrument, labels)
      : (all.get('') ?? this.create(all, '', instrument, OVERFLOW));
  }

  observeGauges(_instruments: readonly Instrument[], read: ReadGauges): Handle {
    const reader: ReadGauges = (report) => read(report);
    this.readers.add(reader);
    return createHandle(() => this.readers.delete(reader));
  }

  /** The series of each instrument that has any. */
  entries(): Iterable<[Instrument, SeriesOf]> {
    return this.byInstrument.entries();
  }

  /** Reads every gauge. Where two have the same labels, such as two channels of one target, the latter counts. */
  readGauges(): ReadonlyMap<Instrument, ReadonlyMap<string, GaugeValue>> {
    const values = new Map<Instrument, Map<string, GaugeValue>>();
    for (const read of this.readers) {
      read((instrument, value, labels) => {
        const known = values.get(instrument) ?? new Map<string, GaugeValue>();
        values.set(instrument, known);
        const key = JSON.stringify(Object.values(labels));
        if (known.size < MAX_SERIES || known.has(key)) known.set(key, { value, labels });
      });
    }
    return values;
  }

  private create(
    all: SeriesOf,
    key: string,
    { kind, buckets }: Instrument,
    labels: SeriesLabels,
  ): FlatSum | FlatHistogram {
    const nowMs = this.clock.now();
    const created =
      kind === 'histogram' ? new FlatHistogram(labels, nowMs, buckets) : new FlatSum(labels, nowMs);
    all.set(key, created);
    return created;
  }
}

/** Reports the present values of the gauges that are observed. The labels are complete. */
export type ReadGauges = (
  report: (instrument: Instrument, value: number, labels: LabelValues) => void,
) => void;

/** Aggregates what is recorded: a `MeterProvider`, or the aggregation of this package. */
export interface MetricsBackend {
  /** Returns a series. The labels are complete, and always in the same order. */
  series(instrument: Instrument, labels: LabelValues): Series;
  /** Reads gauges whenever metrics are collected, until the handle is released. */
  observeGauges(instruments: readonly Instrument[], read: ReadGauges): Handle;
}
