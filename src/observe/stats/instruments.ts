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

const placeLabels = [LOCALITY, BACKEND_SERVICE];
/** Weights have no natural scale; the gRFC gives no buckets. */
const POWERS_OF_10 = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6].map((exponent) => 10 ** exponent);

/** The instruments of weighted_round_robin (gRFCs A78, A89), subchannels (A94) and outlier_detection (A91). */
export const LbInstruments = {
  WRR_RR_FALLBACK: defineInstrument({
    name: 'grpc.lb.wrr.rr_fallback',
    description: 'The number of scheduler updates that had fewer than two usable weights.',
    unit: '{update}',
    kind: 'counter',
    optionalLabels: placeLabels,
  }),
  WRR_NOT_YET_USABLE: defineInstrument({
    name: 'grpc.lb.wrr.endpoint_weight_not_yet_usable',
    description:
      'The number of endpoints, at each scheduler update, that have no weight yet or are in the blackout period.',
    unit: '{endpoint}',
    kind: 'counter',
    optionalLabels: placeLabels,
  }),
  WRR_STALE: defineInstrument({
    name: 'grpc.lb.wrr.endpoint_weight_stale',
    description: 'The number of endpoints, at each scheduler update, whose weight has expired.',
    unit: '{endpoint}',
    kind: 'counter',
    optionalLabels: placeLabels,
  }),
  WRR_WEIGHTS: defineInstrument({
    name: 'grpc.lb.wrr.endpoint_weights',
    description: 'The weight of each endpoint at each scheduler update; 0 if it is not usable.',
    unit: '{weight}',
    kind: 'histogram',
    optionalLabels: placeLabels,
    buckets: [0, ...POWERS_OF_10],
  }),
  DISCONNECTIONS: defineInstrument({
    name: 'grpc.subchannel.disconnections',
    description: 'The number of connections that were lost or closed.',
    unit: '{disconnection}',
    kind: 'counter',
    optionalLabels: [...placeLabels, LbLabel.DISCONNECT_ERROR],
  }),
  CONNECTIONS_SUCCEEDED: defineInstrument({
    name: 'grpc.subchannel.connection_attempts_succeeded',
    description: 'The number of attempts to connect that succeeded.',
    unit: '{attempt}',
    kind: 'counter',
    optionalLabels: placeLabels,
  }),
  CONNECTIONS_FAILED: defineInstrument({
    name: 'grpc.subchannel.connection_attempts_failed',
    description: 'The number of attempts to connect that failed.',
    unit: '{attempt}',
    kind: 'counter',
    optionalLabels: placeLabels,
  }),
  OPEN_CONNECTIONS: defineInstrument({
    name: 'grpc.subchannel.open_connections',
    description: 'The number of connections that are open.',
    unit: '{connection}',
    kind: 'up-down-counter',
    optionalLabels: [...placeLabels, LbLabel.SECURITY_LEVEL],
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

/** Labels of the instruments of the xDS client and of TLS. */
export const ClientLabel = {
  /** `server_uri` of the bootstrap. */
  SERVER: 'grpc.xds.server',
  /** Such as `envoy.config.listener.v3.Listener`. */
  RESOURCE_TYPE: 'grpc.xds.resource_type',
  /** The authority of `xdstp:` names; `#old` for other names. */
  AUTHORITY: 'grpc.xds.authority',
  /** Such as `acked` or `nacked_but_cached` (gRFCs A78, A88). */
  CACHE_STATE: 'grpc.xds.cache_state',
  /** Such as `SUCCESS` (gRFC A118). */
  HANDSHAKE_RESULT: 'grpc.tls.handshake.result',
  /** Whether the TLS session was resumed: `RESUMED_HANDSHAKE` or `FULL_HANDSHAKE` (gRFC A118). */
  HANDSHAKE_RESUMED: 'grpc.tls.handshake.resumed',
} as const;

/** The instruments of the xDS client (gRFCs A78, A88) and of TLS handshakes (gRFC A118). */
export const ClientInstruments = {
  CONNECTED: defineInstrument({
    name: 'grpc.xds_client.connected',
    description:
      'Whether the ADS stream to a management server works: 0 from a failure to the next response.',
    unit: '{bool}',
    kind: 'gauge',
    labels: [TARGET, ClientLabel.SERVER],
  }),
  SERVER_FAILURE: defineInstrument({
    name: 'grpc.xds_client.server_failure',
    description: 'The number of times that a management server became unreachable.',
    unit: '{failure}',
    kind: 'counter',
    labels: [TARGET, ClientLabel.SERVER],
  }),
  UPDATES_VALID: defineInstrument({
    name: 'grpc.xds_client.resource_updates_valid',
    description: 'The number of resources received that were valid, changed or not.',
    unit: '{resource}',
    kind: 'counter',
    labels: [TARGET, ClientLabel.SERVER, ClientLabel.RESOURCE_TYPE],
  }),
  UPDATES_INVALID: defineInstrument({
    name: 'grpc.xds_client.resource_updates_invalid',
    description: 'The number of resources received that were not valid.',
    unit: '{resource}',
    kind: 'counter',
    labels: [TARGET, ClientLabel.SERVER, ClientLabel.RESOURCE_TYPE],
  }),
  RESOURCES: defineInstrument({
    name: 'grpc.xds_client.resources',
    description: 'The number of resources watched for a target, by their state in the cache.',
    unit: '{resource}',
    kind: 'gauge',
    labels: [TARGET, ClientLabel.AUTHORITY, ClientLabel.CACHE_STATE, ClientLabel.RESOURCE_TYPE],
  }),
  TLS_HANDSHAKES: defineInstrument({
    name: 'grpc.client.tls.handshakes',
    description: 'The number of TLS handshakes with endpoints that have ended.',
    unit: '{handshake}',
    kind: 'counter',
    labels: [TARGET, ClientLabel.HANDSHAKE_RESULT],
    optionalLabels: [ClientLabel.HANDSHAKE_RESUMED, LOCALITY, BACKEND_SERVICE],
  }),
} as const satisfies Readonly<Record<string, Instrument>>;

/** Labels of the instruments that no gRFC defines. */
export const OwnLabel = {
  /** Such as `READY`. */
  ENDPOINT_STATE: 'grpc_xds.lb.endpoint_state',
  /** As the control plane names it; empty for calls over the limit of concurrent requests. */
  DROP_CATEGORY: 'grpc_xds.lb.drop_category',
} as const;

const clusterLabels = [TARGET, BACKEND_SERVICE];

/** The instruments that no gRFC defines. Their names do not begin as those of gRPC do (gRFC A79). */
export const OwnInstruments = {
  PRIORITY_IN_USE: defineInstrument({
    name: 'grpc_xds.lb.priority_in_use',
    description: 'The priority whose endpoints a cluster uses, from 0.',
    unit: '{priority}',
    kind: 'gauge',
    labels: clusterLabels,
  }),
  ENDPOINTS: defineInstrument({
    name: 'grpc_xds.lb.endpoints',
    description:
      'The number of endpoints of a cluster by connectivity state, in priorities in use.',
    unit: '{endpoint}',
    kind: 'gauge',
    labels: [...clusterLabels, OwnLabel.ENDPOINT_STATE],
  }),
  DROPS: defineInstrument({
    name: 'grpc_xds.lb.drops',
    description: 'The number of calls that a cluster dropped, by category.',
    unit: '{call}',
    kind: 'counter',
    labels: [...clusterLabels, OwnLabel.DROP_CATEGORY],
  }),
  APPLY_DURATION: defineInstrument({
    name: 'grpc_xds.config.apply_duration',
    description:
      'The time from a response of a management server to the pickers that follow from it, by target.',
    unit: 's',
    kind: 'histogram',
    buckets: LATENCY_BUCKETS,
  }),
  HELD_BACK: defineInstrument({
    name: 'grpc_xds.config.held_back_duration',
    description:
      'The time for which an accepted resource has not been in use because others are pending, of the oldest one; 0 if there is none.',
    unit: 's',
    kind: 'gauge',
  }),
  SHORT_STREAMS: defineInstrument({
    name: 'grpc_xds.xds_client.short_streams',
    description:
      'The number of streams in a row that a management server has ended soon after they opened, while there are pauses between them because of that; else 0.',
    unit: '{stream}',
    kind: 'gauge',
    labels: [TARGET, ClientLabel.SERVER],
  }),
  FALLBACK_ACTIVE: defineInstrument({
    name: 'grpc_xds.fallback_active',
    description: 'Whether another management server than the first of an authority is in use.',
    unit: '{bool}',
    kind: 'gauge',
    labels: [TARGET, ClientLabel.AUTHORITY],
  }),
} as const satisfies Readonly<Record<string, Instrument>>;

/** Labels of the instruments of servers. */
export const ServerLabel = {
  /** As it was given to `bindAsync`. */
  ADDRESS: 'grpc_xds.server.address',
  /** The code of Node.js or OpenSSL, or that of this package; empty for handshakes that succeeded. */
  HANDSHAKE_CAUSE: 'grpc_xds.server.handshake_cause',
  /** The name of the HTTP filter; empty if none refused the call. */
  FILTER: 'grpc_xds.server.filter',
  /** `allow` or `deny`: what the rules of the filter do with what they match. */
  ACTION: 'grpc_xds.server.action',
  /** The policy that matched; empty if none did. */
  POLICY: 'grpc_xds.server.policy',
  /** `open`, or `draining`: it accepts no more calls. */
  CONNECTION_STATE: 'grpc_xds.server.connection_state',
} as const;

const addressLabels = [TARGET, ServerLabel.ADDRESS];

/** The instruments of xDS servers, which no gRFC defines. Their target is `#server` (gRFC A71). */
export const ServerInstruments = {
  SERVING: defineInstrument({
    name: 'grpc_xds.server.serving',
    description: 'Whether an address is served.',
    unit: '{bool}',
    kind: 'gauge',
    labels: addressLabels,
  }),
  CONNECTIONS: defineInstrument({
    name: 'grpc_xds.server.connections',
    description: 'The number of connections to an address, by whether they accept calls.',
    unit: '{connection}',
    kind: 'gauge',
    labels: [...addressLabels, ServerLabel.CONNECTION_STATE],
  }),
  CALLS: defineInstrument({
    name: 'grpc_xds.server.calls_in_progress',
    description: 'The number of calls to an address that have not ended.',
    unit: '{call}',
    kind: 'gauge',
    labels: addressLabels,
  }),
  HANDSHAKES: defineInstrument({
    name: 'grpc_xds.server.handshakes',
    description: 'The number of TLS handshakes with clients that have ended, by result and cause.',
    unit: '{handshake}',
    kind: 'counter',
    labels: [...addressLabels, ClientLabel.HANDSHAKE_RESULT, ServerLabel.HANDSHAKE_CAUSE],
  }),
  REFUSALS: defineInstrument({
    name: 'grpc_xds.server.refusals',
    description: 'The number of calls that were refused, such as denied by a policy.',
    unit: '{call}',
    kind: 'counter',
    labels: [
      ...addressLabels,
      Label.STATUS,
      ServerLabel.FILTER,
      ServerLabel.ACTION,
      ServerLabel.POLICY,
    ],
  }),
} as const satisfies Readonly<Record<string, Instrument>>;

/** The instruments of a relay, which no gRFC defines. Their target is `#relay`. */
export const RelayInstruments = {
  CLIENTS: defineInstrument({
    name: 'grpc_xds.relay.clients',
    description: 'The number of discovery streams of clients of a relay.',
    unit: '{stream}',
    kind: 'gauge',
  }),
  SUBSCRIPTIONS: defineInstrument({
    name: 'grpc_xds.relay.subscriptions',
    description: 'The number of names that the clients of a relay subscribe to, all together.',
    unit: '{name}',
    kind: 'gauge',
    labels: [TARGET, ClientLabel.RESOURCE_TYPE],
  }),
  RELAYED_SIZE: defineInstrument({
    name: 'grpc_xds.relay.relayed_size',
    description: 'Bytes of the resources that a relay has sent to its clients.',
    unit: 'By',
    kind: 'counter',
    labels: [TARGET, ClientLabel.RESOURCE_TYPE],
  }),
  REJECTIONS: defineInstrument({
    name: 'grpc_xds.relay.rejections',
    description: 'The number of responses that clients of a relay have rejected (NACK).',
    unit: '{response}',
    kind: 'counter',
    labels: [TARGET, ClientLabel.RESOURCE_TYPE],
  }),
} as const satisfies Readonly<Record<string, Instrument>>;
