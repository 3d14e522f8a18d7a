import { CallInstruments } from '../stats/call-instruments';
import { ClientInstruments } from '../stats/client-instruments';
import { Label, type Instrument } from '../stats/instrument';
import { LbInstruments } from '../stats/lb-instruments';
import { OwnInstruments } from '../stats/own-instruments';
import type { LabelValues } from '../stats/stats-plugin';

/** Every instrument of this package. */
export const allInstruments: readonly Instrument[] = [
  ...Object.values(CallInstruments),
  ...Object.values(LbInstruments),
  ...Object.values(ClientInstruments),
  ...Object.values(OwnInstruments),
];

/** The choice of instruments and labels in `ObserveOptions`. */
export interface InstrumentOptions {
  /** Names of instruments to enable besides those that are on by default, such as `grpc.lb.wrr.rr_fallback`. */
  readonly enableMetrics?: readonly string[];
  /** Names of instruments to disable. Takes precedence over `enableMetrics`. */
  readonly disableMetrics?: readonly string[];
  /** Disables the instruments that are on by default. `enableMetrics` still applies. Default: `false`. */
  readonly disableAllMetrics?: boolean;
  /** Optional labels to record, such as `grpc.lb.locality`. Default: none. */
  readonly optionalLabels?: readonly string[];
}

/** The instruments and labels that an application enables (gRFC A79). */
export class InstrumentChoice {
  private readonly instruments: ReadonlySet<Instrument>;
  private readonly optionalLabels: ReadonlySet<string>;

  /** @throws TypeError if there is no instrument, or no optional label, of a name. */
  constructor(options: InstrumentOptions) {
    const { enableMetrics = [], disableMetrics = [], disableAllMetrics = false } = options;
    const { optionalLabels = [] } = options;
    const names = allInstruments.map(({ name }) => name);
    requireKnown([...enableMetrics, ...disableMetrics], names, 'metric');
    const labels = allInstruments.flatMap((instrument) => instrument.optionalLabels);
    requireKnown(optionalLabels, labels, 'optional label');
    const enabled = allInstruments.filter(({ name, isOnByDefault }) => {
      if (disableMetrics.includes(name)) return false;
      return enableMetrics.includes(name) || (isOnByDefault && !disableAllMetrics);
    });
    this.instruments = new Set(enabled);
    this.optionalLabels = new Set(optionalLabels);
  }

  has(instrument: Instrument): boolean {
    return this.instruments.has(instrument);
  }

  /** Returns the enabled ones of some instruments. */
  enabled(instruments: readonly Instrument[]): readonly Instrument[] {
    return instruments.filter((instrument) => this.has(instrument));
  }

  usesLabel(label: string): boolean {
    return this.optionalLabels.has(label);
  }

  /** Returns the labels of a series: all that the instrument requires, and those of the optional ones that are enabled. */
  labelsOf(instrument: Instrument, target: string, values: LabelValues): LabelValues {
    const labels: Record<string, string> = {};
    for (const label of instrument.labels) {
      labels[label] = label === Label.TARGET ? target : (values[label] ?? '');
    }
    for (const label of instrument.optionalLabels) {
      if (this.usesLabel(label)) labels[label] = values[label] ?? '';
    }
    return labels;
  }
}

function requireKnown(names: readonly string[], known: readonly string[], kind: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(
    `grpc-xds: observe(): there is no ${kind} "${unknown}"; there are ${[...new Set(known)].join(', ')}`,
  );
}
