import type {
  BatchObservableResult,
  Meter,
  MeterProvider,
  ObservableGauge,
  ValueType,
} from '@opentelemetry/api';
import type { Instrument } from '../stats/instrument-table';
import type { LabelValues, Series } from '../stats/stats-plugin';
import { createHandle, type Handle } from '../../util/handle';
import { PACKAGE_VERSION } from '../../util/version';
import { MAX_SERIES, type MetricsBackend, type ReadGauges } from './flat-backend';

/** The name of the instrumentation scope. */
export const SCOPE = 'grpc-xds';

type AddValue = (value: number, labels: LabelValues) => void;

interface GaugeReader {
  readonly instruments: readonly Instrument[];
  readonly read: ReadGauges;
}

/** Records with the instruments of a `MeterProvider`: views and exemplars apply. */
export class MeterBackend implements MetricsBackend {
  private readonly meter: Meter;
  private readonly adders = new Map<Instrument, AddValue>();
  private readonly gauges = new Map<Instrument, ObservableGauge>();
  private readonly readers = new Set<GaugeReader>();
  /** The series of gauges that were observed at any time. */
  private readonly reported = new Map<Instrument, Map<string, LabelValues>>();

  constructor(provider: MeterProvider) {
    this.meter = provider.getMeter(SCOPE, PACKAGE_VERSION);
  }

  series(instrument: Instrument, labels: LabelValues): Series {
    let add = this.adders.get(instrument);
    if (add === undefined) {
      add = createAdder(this.meter, instrument);
      this.adders.set(instrument, add);
    }
    const adder = add;
    return { add: (value) => adder(value, labels) };
  }

  observeGauges(instruments: readonly Instrument[], read: ReadGauges): Handle {
    const reader = { instruments, read };
    for (const instrument of instruments) this.gauge(instrument);
    this.readers.add(reader);
    return createHandle(() => this.readers.delete(reader));
  }

  /**
   * Observes a gauge. Series that are not observed any more get 0: the SDK would go on to export their last value
   * (https://github.com/open-telemetry/opentelemetry-js/issues/4096).
   */
  private readGauge(observed: Instrument, result: BatchObservableResult): void {
    const gauge = this.gauge(observed);
    const reported = this.reported.get(observed) ?? new Map<string, LabelValues>();
    this.reported.set(observed, reported);
    const gone = new Map(reported);
    for (const { instruments, read } of this.readers) {
      if (!instruments.includes(observed)) continue;
      read((instrument, value, labels) => {
        if (instrument !== observed) return;
        result.observe(gauge, value, labels);
        const key = JSON.stringify(Object.values(labels));
        gone.delete(key);
        if (reported.size < MAX_SERIES) reported.set(key, labels);
      });
    }
    for (const labels of gone.values()) result.observe(gauge, 0, labels);
  }

  private gauge(instrument: Instrument): ObservableGauge {
    const known = this.gauges.get(instrument);
    if (known !== undefined) return known;
    const created = this.meter.createObservableGauge(instrument.name, optionsOf(instrument));
    this.gauges.set(instrument, created);
    this.meter.addBatchObservableCallback(
      (result) => this.readGauge(instrument, result),
      [created],
    );
    return created;
  }
}

function createAdder(meter: Meter, instrument: Instrument): AddValue {
  const { name, kind, buckets } = instrument;
  const options = optionsOf(instrument);
  switch (kind) {
    case 'counter': {
      const counter = meter.createCounter(name, options);
      return (value, labels) => counter.add(value, labels);
    }
    case 'up-down-counter': {
      const counter = meter.createUpDownCounter(name, options);
      return (value, labels) => counter.add(value, labels);
    }
    default: {
      const advice = { explicitBucketBoundaries: [...buckets] };
      const histogram = meter.createHistogram(name, { ...options, advice });
      return (value, labels) => histogram.record(value, labels);
    }
  }
}

function optionsOf(instrument: Instrument): {
  description: string;
  unit: string;
  valueType: ValueType;
} {
  const { description, unit } = instrument;
  return { description, unit, valueType: valueTypeOf(instrument) };
}

/** Durations and weights are fractions, everything else is counted. */
export function valueTypeOf({ unit }: Instrument): ValueType {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- DOUBLE and INT of a package that is not loaded for metrics alone
  return unit === 's' || unit === '{weight}' ? 1 : 0;
}
