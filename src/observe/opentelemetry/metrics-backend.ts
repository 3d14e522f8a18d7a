import type { Instrument } from '../stats/instrument';
import type { LabelValues, ReportGauge, Series } from '../stats/stats-plugin';
import type { Handle } from '../../util/handle';

/** Aggregates what is recorded: a `MeterProvider`, or the aggregation of this package. */
export interface MetricsBackend {
  /** Returns a series. The labels are complete, and always in the same order. */
  series(instrument: Instrument, labels: LabelValues): Series;
  /** Reads gauges whenever metrics are collected, until the handle is released. */
  observeGauges(instruments: readonly Instrument[], read: (report: ReportGauge) => void): Handle;
}
