/**
 * The names of instruments and labels, which is all that those who record need. What the instruments are, only a plugin
 * loads: see `instrument-table.ts`.
 */

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
  /** `lookup_service` of the config of rls. */
  RLS_SERVER_TARGET: 'grpc.lb.rls.server_target',
  /** A UUID for each policy of a channel. */
  RLS_INSTANCE: 'grpc.lb.rls.instance_uuid',
  /** A target that the lookup service has returned, or the default target. */
  DATA_PLANE_TARGET: 'grpc.lb.rls.data_plane_target',
  /** `complete`, `fail` or `drop`. */
  PICK_RESULT: 'grpc.lb.pick_result',
} as const;

/** The instruments of weighted_round_robin (gRFCs A78, A89), subchannels (A94) and outlier_detection (A91). */
export const LbInstruments = {
  WRR_RR_FALLBACK: 'grpc.lb.wrr.rr_fallback',
  WRR_NOT_YET_USABLE: 'grpc.lb.wrr.endpoint_weight_not_yet_usable',
  WRR_STALE: 'grpc.lb.wrr.endpoint_weight_stale',
  WRR_WEIGHTS: 'grpc.lb.wrr.endpoint_weights',
  DISCONNECTIONS: 'grpc.subchannel.disconnections',
  CONNECTIONS_SUCCEEDED: 'grpc.subchannel.connection_attempts_succeeded',
  CONNECTIONS_FAILED: 'grpc.subchannel.connection_attempts_failed',
  OPEN_CONNECTIONS: 'grpc.subchannel.open_connections',
  EJECTIONS_ENFORCED: 'grpc.lb.outlier_detection.ejections_enforced',
  EJECTIONS_UNENFORCED: 'grpc.lb.outlier_detection.ejections_unenforced',
} as const;

/** The instruments of rls, which no gRFC defines; grpc-go, grpc-java and C-core have the same. */
export const RlsInstruments = {
  CACHE_ENTRIES: 'grpc.lb.rls.cache_entries',
  CACHE_SIZE: 'grpc.lb.rls.cache_size',
  DEFAULT_TARGET_PICKS: 'grpc.lb.rls.default_target_picks',
  TARGET_PICKS: 'grpc.lb.rls.target_picks',
  FAILED_PICKS: 'grpc.lb.rls.failed_picks',
} as const;

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

/** Returns the value of the label `grpc.tls.handshake.resumed`. */
export function handshakeKind(isResumed: boolean): string {
  return isResumed ? 'RESUMED_HANDSHAKE' : 'FULL_HANDSHAKE';
}

/** The instruments of the xDS client (gRFCs A78, A88) and of TLS handshakes (gRFC A118). */
export const ClientInstruments = {
  CONNECTED: 'grpc.xds_client.connected',
  SERVER_FAILURE: 'grpc.xds_client.server_failure',
  UPDATES_VALID: 'grpc.xds_client.resource_updates_valid',
  UPDATES_INVALID: 'grpc.xds_client.resource_updates_invalid',
  RESOURCES: 'grpc.xds_client.resources',
  TLS_HANDSHAKES: 'grpc.client.tls.handshakes',
} as const;

/** Labels of the instruments that no gRFC defines. */
export const OwnLabel = {
  /** Such as `READY`. */
  ENDPOINT_STATE: 'grpc_xds.lb.endpoint_state',
  /** As the control plane names it; empty for calls over the limit of concurrent requests. */
  DROP_CATEGORY: 'grpc_xds.lb.drop_category',
} as const;

/** The instruments that no gRFC defines. Their names do not begin as those of gRPC do (gRFC A79). */
export const OwnInstruments = {
  PRIORITY_IN_USE: 'grpc_xds.lb.priority_in_use',
  ENDPOINTS: 'grpc_xds.lb.endpoints',
  DROPS: 'grpc_xds.lb.drops',
  APPLY_DURATION: 'grpc_xds.config.apply_duration',
  HELD_BACK: 'grpc_xds.config.held_back_duration',
  SHORT_STREAMS: 'grpc_xds.xds_client.short_streams',
  FALLBACK_ACTIVE: 'grpc_xds.fallback_active',
} as const;

/** Labels of the instruments of servers. */
export const ServerLabel = {
  /** The address as passed to `bindAsync`. */
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

/** The instruments of xDS servers. Their target is `#server` (gRFC A71). No gRFC defines them but the last one (gRFC A118). */
export const ServerInstruments = {
  SERVING: 'grpc_xds.server.serving',
  CONNECTIONS: 'grpc_xds.server.connections',
  CALLS: 'grpc_xds.server.calls_in_progress',
  HANDSHAKES: 'grpc_xds.server.handshakes',
  REFUSALS: 'grpc_xds.server.refusals',
  TLS_HANDSHAKES: 'grpc.server.tls.handshakes',
} as const;

/** The instruments of a relay, which no gRFC defines. Their target is `#relay`. */
export const RelayInstruments = {
  CLIENTS: 'grpc_xds.relay.clients',
  SUBSCRIPTIONS: 'grpc_xds.relay.subscriptions',
  RELAYED_SIZE: 'grpc_xds.relay.relayed_size',
  REJECTIONS: 'grpc_xds.relay.rejections',
} as const;

/** The instruments of the calls of servers (gRFC A66). */
type ServerCallInstrument =
  | 'grpc.server.call.started'
  | 'grpc.server.call.duration'
  | 'grpc.server.call.sent_total_compressed_message_size'
  | 'grpc.server.call.rcvd_total_compressed_message_size';

type ValueOf<T> = T[keyof T];

/** The instruments of calls and of their attempts (gRFCs A66, A78, A89, A96, A108). */
type CallInstrument =
  | 'grpc.client.attempt.started'
  | 'grpc.client.attempt.duration'
  | 'grpc.client.attempt.sent_total_compressed_message_size'
  | 'grpc.client.attempt.rcvd_total_compressed_message_size'
  | 'grpc.client.call.duration'
  | 'grpc.client.call.retries'
  | 'grpc.client.call.transparent_retries'
  | 'grpc.client.call.hedges'
  | 'grpc.client.call.retry_delay';

/** The instruments of the ext_authz filter of clients and of servers (gRFC A92). */
type ExtAuthzInstrument =
  `grpc.${'client' | 'server'}_ext_authz.${'allowed' | 'denied' | 'filter_disabled' | 'failed'}_rpcs`;

/** The name of every instrument. */
export type InstrumentName =
  | CallInstrument
  | ServerCallInstrument
  | ExtAuthzInstrument
  | ValueOf<typeof LbInstruments>
  | ValueOf<typeof RlsInstruments>
  | ValueOf<typeof ClientInstruments>
  | ValueOf<typeof OwnInstruments>
  | ValueOf<typeof ServerInstruments>
  | ValueOf<typeof RelayInstruments>;
