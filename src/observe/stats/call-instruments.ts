import {
  defineInstrument,
  Label,
  LATENCY_BUCKETS,
  SIZE_BUCKETS,
  type Instrument,
} from './instruments';

const { METHOD, TARGET, STATUS, LOCALITY, BACKEND_SERVICE, CUSTOM } = Label;

const attempt = {
  kind: 'histogram',
  labels: [METHOD, TARGET, STATUS],
  optionalLabels: [LOCALITY, BACKEND_SERVICE, CUSTOM],
  isOnByDefault: true,
} as const;

const retries = {
  kind: 'histogram',
  labels: [METHOD, TARGET],
  optionalLabels: [CUSTOM],
} as const;

const FEW_BUCKETS = [1, 2, 3, 4, 5];

/** The instruments of calls and of their attempts (gRFCs A66, A78, A89, A96, A108). */
export const CallInstruments = {
  ATTEMPT_STARTED: defineInstrument({
    name: 'grpc.client.attempt.started',
    description: 'The number of attempts of calls that were started, finished or not.',
    unit: '{attempt}',
    kind: 'counter',
    labels: [METHOD, TARGET],
    optionalLabels: [CUSTOM],
    isOnByDefault: true,
  }),
  ATTEMPT_DURATION: defineInstrument({
    ...attempt,
    name: 'grpc.client.attempt.duration',
    description: 'The time from the start of an attempt to its status, picking included.',
    unit: 's',
    buckets: LATENCY_BUCKETS,
  }),
  ATTEMPT_SENT: defineInstrument({
    ...attempt,
    name: 'grpc.client.attempt.sent_total_compressed_message_size',
    description:
      'The bytes of all messages of an attempt that were sent, compressed, without headers.',
    unit: 'By',
    buckets: SIZE_BUCKETS,
  }),
  ATTEMPT_RECEIVED: defineInstrument({
    ...attempt,
    name: 'grpc.client.attempt.rcvd_total_compressed_message_size',
    description:
      'The bytes of all messages of an attempt that were received, compressed, without headers.',
    unit: 'By',
    buckets: SIZE_BUCKETS,
  }),
  CALL_DURATION: defineInstrument({
    name: 'grpc.client.call.duration',
    description: 'The time from the start of a call to its status, all attempts included.',
    unit: 's',
    kind: 'histogram',
    labels: [METHOD, TARGET, STATUS],
    optionalLabels: [CUSTOM],
    buckets: LATENCY_BUCKETS,
    isOnByDefault: true,
  }),
  CALL_RETRIES: defineInstrument({
    ...retries,
    name: 'grpc.client.call.retries',
    description: 'The number of retries of a call, of calls with any; transparent ones excluded.',
    unit: '{retry}',
    buckets: FEW_BUCKETS,
  }),
  CALL_TRANSPARENT_RETRIES: defineInstrument({
    ...retries,
    name: 'grpc.client.call.transparent_retries',
    description: 'The number of transparent retries of a call, of calls with any.',
    unit: '{transparent_retry}',
    buckets: [...FEW_BUCKETS, 10],
  }),
  CALL_HEDGES: defineInstrument({
    ...retries,
    name: 'grpc.client.call.hedges',
    description: 'The number of hedges of a call, of calls with any. xDS configures no hedging.',
    unit: '{hedge}',
    buckets: FEW_BUCKETS,
  }),
  CALL_RETRY_DELAY: defineInstrument({
    ...retries,
    name: 'grpc.client.call.retry_delay',
    description: 'The time of a call without an active attempt, of calls with any.',
    unit: 's',
    buckets: LATENCY_BUCKETS,
  }),
} as const satisfies Readonly<Record<string, Instrument>>;
