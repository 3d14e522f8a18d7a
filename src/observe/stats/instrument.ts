/** How the values of an instrument are aggregated. A gauge is read when metrics are collected. */
export type InstrumentKind = 'counter' | 'up-down-counter' | 'histogram' | 'gauge';

/** A metric as the gRFCs define it (gRFC A79). Every instrument of a channel also has the label `grpc.target`. */
export interface Instrument {
  readonly name: string;
  readonly description: string;
  /** In the notation of UCUM, such as `s`, `By` or `{call}`. */
  readonly unit: string;
  readonly kind: InstrumentKind;
  /** The labels that every series has. */
  readonly labels: readonly string[];
  /** The labels that a series has only where a plugin enables them. */
  readonly optionalLabels: readonly string[];
  /** Upper bounds of the buckets of a histogram, ascending. Empty for any other kind. */
  readonly buckets: readonly number[];
  /** Whether the instrument is enabled unless an application disables it. */
  readonly isOnByDefault: boolean;
}

/** The labels of instruments, by their names in the gRFCs. */
export const Label = {
  METHOD: 'grpc.method',
  TARGET: 'grpc.target',
  STATUS: 'grpc.status',
  /** `{region="R", zone="Z", sub_zone="S"}`; empty if unknown (gRFC A78). */
  LOCALITY: 'grpc.lb.locality',
  /** The name of the cluster; empty if there is none (gRFC A89). */
  BACKEND_SERVICE: 'grpc.lb.backend_service',
  /** A text that an application sets for a call (gRFC A108). */
  CUSTOM: 'grpc.client.call.custom',
} as const;

/** Seconds (gRFC A66). */
export const LATENCY_BUCKETS: readonly number[] = [
  0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006,
  0.008, 0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25,
  0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10, 20, 50, 100,
];

/** Bytes (gRFC A66). */
export const SIZE_BUCKETS: readonly number[] = [
  0,
  ...[10, 11, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32].map((exponent) => 2 ** exponent),
];

type Definition = Pick<Instrument, 'name' | 'description' | 'unit' | 'kind'> & Partial<Instrument>;

/** Creates an instrument. Defaults: `grpc.target` alone as label, no buckets, off. */
export function defineInstrument(definition: Definition): Instrument {
  return {
    labels: [Label.TARGET],
    optionalLabels: [],
    buckets: [],
    isOnByDefault: false,
    ...definition,
  };
}
