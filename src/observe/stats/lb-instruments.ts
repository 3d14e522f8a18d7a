import { defineInstrument, Label, type Instrument } from './instrument';

const { TARGET, LOCALITY, BACKEND_SERVICE } = Label;

/** Labels of the instruments of load balancing. */
export const LbLabel = {
  /** Why a connection was lost (gRFC A94). */
  DISCONNECT_ERROR: 'grpc.disconnect_error',
  /** `none` or `privacy_and_integrity` (gRFC A94). */
  SECURITY_LEVEL: 'grpc.security_level',
  /** `success_rate` or `failure_percentage` (gRFC A91). */
  DETECTION_METHOD: 'grpc.lb.outlier_detection.detection_method',
  /** `enforcement_percentage` or `max_ejection_overflow` (gRFC A91). */
  UNENFORCED_REASON: 'grpc.lb.outlier_detection.unenforced_reason',
} as const;

const optionalLabels = [LOCALITY, BACKEND_SERVICE];
/** Weights have no natural scale; the gRFC gives no buckets. */
const POWERS_OF_10 = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6].map((exponent) => 10 ** exponent);

/** The instruments of weighted_round_robin (gRFCs A78, A89), subchannels (A94) and outlier_detection (A91). */
export const LbInstruments = {
  WRR_RR_FALLBACK: defineInstrument({
    name: 'grpc.lb.wrr.rr_fallback',
    description: 'The number of scheduler updates that had fewer than two usable weights.',
    unit: '{update}',
    kind: 'counter',
    optionalLabels,
  }),
  WRR_NOT_YET_USABLE: defineInstrument({
    name: 'grpc.lb.wrr.endpoint_weight_not_yet_usable',
    description:
      'The number of endpoints, at each scheduler update, that have no weight yet or are in the blackout period.',
    unit: '{endpoint}',
    kind: 'counter',
    optionalLabels,
  }),
  WRR_STALE: defineInstrument({
    name: 'grpc.lb.wrr.endpoint_weight_stale',
    description: 'The number of endpoints, at each scheduler update, whose weight has expired.',
    unit: '{endpoint}',
    kind: 'counter',
    optionalLabels,
  }),
  WRR_WEIGHTS: defineInstrument({
    name: 'grpc.lb.wrr.endpoint_weights',
    description: 'The weight of each endpoint at each scheduler update; 0 if it is not usable.',
    unit: '{weight}',
    kind: 'histogram',
    optionalLabels,
    buckets: [0, ...POWERS_OF_10],
  }),
  DISCONNECTIONS: defineInstrument({
    name: 'grpc.subchannel.disconnections',
    description: 'The number of connections that were lost or closed.',
    unit: '{disconnection}',
    kind: 'counter',
    optionalLabels: [...optionalLabels, LbLabel.DISCONNECT_ERROR],
  }),
  CONNECTIONS_SUCCEEDED: defineInstrument({
    name: 'grpc.subchannel.connection_attempts_succeeded',
    description: 'The number of attempts to connect that succeeded.',
    unit: '{attempt}',
    kind: 'counter',
    optionalLabels,
  }),
  CONNECTIONS_FAILED: defineInstrument({
    name: 'grpc.subchannel.connection_attempts_failed',
    description: 'The number of attempts to connect that failed.',
    unit: '{attempt}',
    kind: 'counter',
    optionalLabels,
  }),
  OPEN_CONNECTIONS: defineInstrument({
    name: 'grpc.subchannel.open_connections',
    description: 'The number of connections that are open.',
    unit: '{connection}',
    kind: 'up-down-counter',
    optionalLabels: [...optionalLabels, LbLabel.SECURITY_LEVEL],
  }),
  EJECTIONS_ENFORCED: defineInstrument({
    name: 'grpc.lb.outlier_detection.ejections_enforced',
    description: 'The number of ejections of outliers.',
    unit: '{ejection}',
    kind: 'counter',
    labels: [TARGET, LbLabel.DETECTION_METHOD],
    optionalLabels: [BACKEND_SERVICE],
  }),
  EJECTIONS_UNENFORCED: defineInstrument({
    name: 'grpc.lb.outlier_detection.ejections_unenforced',
    description:
      'The number of outliers that were not ejected because of the enforcement or the max ejection percentage.',
    unit: '{ejection}',
    kind: 'counter',
    labels: [TARGET, LbLabel.DETECTION_METHOD, LbLabel.UNENFORCED_REASON],
    optionalLabels: [BACKEND_SERVICE],
  }),
} as const satisfies Readonly<Record<string, Instrument>>;
