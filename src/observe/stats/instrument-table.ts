import {
  ClientLabel,
  Label,
  LbLabel,
  OwnLabel,
  ServerLabel,
  type InstrumentName,
} from './instruments';

/** A metric as the gRFCs define it (gRFC A79). */
export interface Instrument {
  readonly name: string;
  readonly description: string;
  /** In the notation of UCUM, such as `s`, `By` or `{call}`. */
  readonly unit: string;
  /** How values are aggregated. A gauge is read when metrics are collected. */
  readonly kind: 'counter' | 'up-down-counter' | 'histogram' | 'gauge';
  /** The labels that every series has. */
  readonly labels: readonly string[];
  /** The labels that a series has only where a plugin enables them. */
  readonly optionalLabels: readonly string[];
  /** Upper bounds of the buckets of a histogram, ascending. Empty for any other kind. */
  readonly buckets: readonly number[];
  /** Whether the instrument is enabled unless an application disables it. */
  readonly isOnByDefault: boolean;
}

type Definition = Omit<Instrument, 'name'>;

/** What an instrument has besides its unit and description. Defaults: `grpc.target` alone as label, no buckets, off. */
type Details = Partial<Omit<Definition, 'kind' | 'unit' | 'description'>>;

const { METHOD, TARGET, STATUS, LOCALITY, BACKEND_SERVICE, CUSTOM } = Label;
const { SERVER, RESOURCE_TYPE, AUTHORITY, CACHE_STATE } = ClientLabel;
const { HANDSHAKE_RESULT, HANDSHAKE_RESUMED } = ClientLabel;
const { ADDRESS } = ServerLabel;

const define =
  (kind: Definition['kind']) =>
  (unit: string, description: string, details: Details = {}): Definition => ({
    kind,
    unit,
    description,
    labels: [TARGET],
    optionalLabels: [],
    buckets: [],
    isOnByDefault: false,
    ...details,
  });
const counter = define('counter');
const upDownCounter = define('up-down-counter');
const histogram = define('histogram');
const gauge = define('gauge');

/** Seconds (gRFC A66). */
const LATENCY_BUCKETS: readonly number[] = [
  0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006,
  0.008, 0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25,
  0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10, 20, 50, 100,
];
/** Bytes (gRFC A66). */
const SIZE_BUCKETS: readonly number[] = [
  0,
  ...[10, 11, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32].map((exponent) => 2 ** exponent),
];
/** Weights have no natural scale; the gRFC gives no buckets. */
const WEIGHT_BUCKETS = [0, ...[-3, -2, -1, 0, 1, 2, 3, 4, 5, 6].map((exponent) => 10 ** exponent)];
const FEW_BUCKETS = [1, 2, 3, 4, 5];

const ofAttempts = {
  labels: [METHOD, TARGET, STATUS],
  optionalLabels: [LOCALITY, BACKEND_SERVICE, CUSTOM],
  isOnByDefault: true,
};
const ofServerCalls = { labels: [METHOD, STATUS], isOnByDefault: true };
const ofRetries = { labels: [METHOD, TARGET], optionalLabels: [CUSTOM] };
const byPlace = { optionalLabels: [LOCALITY, BACKEND_SERVICE] };
const byCluster = { labels: [TARGET, BACKEND_SERVICE] };
const byLookupService = [TARGET, LbLabel.RLS_SERVER_TARGET];
const ofLookupCache = { labels: [...byLookupService, LbLabel.RLS_INSTANCE] };
const ofRlsPicks = {
  labels: [...byLookupService, LbLabel.DATA_PLANE_TARGET, LbLabel.PICK_RESULT],
};
const byServer = { labels: [TARGET, SERVER] };
const byServerAndType = { labels: [TARGET, SERVER, RESOURCE_TYPE] };
const byAddress = { labels: [TARGET, ADDRESS] };
const byType = { labels: [TARGET, RESOURCE_TYPE] };

/** The definitions of all instruments, in the order in which they are listed. */
const definitions: Readonly<Record<InstrumentName, Definition>> = {
  'grpc.client.attempt.started': counter(
    '{attempt}',
    'The number of attempts of calls that were started, finished or not.',
    { labels: [METHOD, TARGET], optionalLabels: [CUSTOM], isOnByDefault: true },
  ),
  'grpc.client.attempt.duration': histogram(
    's',
    'The time from the start of an attempt to its status, picking included.',
    { ...ofAttempts, buckets: LATENCY_BUCKETS },
  ),
  'grpc.client.attempt.sent_total_compressed_message_size': histogram(
    'By',
    'The bytes of all messages of an attempt that were sent, compressed, without headers.',
    { ...ofAttempts, buckets: SIZE_BUCKETS },
  ),
  'grpc.client.attempt.rcvd_total_compressed_message_size': histogram(
    'By',
    'The bytes of all messages of an attempt that were received, compressed, without headers.',
    { ...ofAttempts, buckets: SIZE_BUCKETS },
  ),
  'grpc.client.call.duration': histogram(
    's',
    'The time from the start of a call to its status, all attempts included.',
    { ...ofAttempts, optionalLabels: [CUSTOM], buckets: LATENCY_BUCKETS },
  ),
  'grpc.client.call.retries': histogram(
    '{retry}',
    'The number of retries of a call, of calls with any; transparent ones excluded.',
    { ...ofRetries, buckets: FEW_BUCKETS },
  ),
  'grpc.client.call.transparent_retries': histogram(
    '{transparent_retry}',
    'The number of transparent retries of a call, of calls with any.',
    { ...ofRetries, buckets: [...FEW_BUCKETS, 10] },
  ),
  'grpc.client.call.hedges': histogram(
    '{hedge}',
    'The number of hedges of a call, of calls with any. xDS configures no hedging.',
    { ...ofRetries, buckets: FEW_BUCKETS },
  ),
  'grpc.client.call.retry_delay': histogram(
    's',
    'The time of a call without an active attempt, of calls with any.',
    { ...ofRetries, buckets: LATENCY_BUCKETS },
  ),
  'grpc.server.call.started': counter(
    '{call}',
    'The number of calls of servers that were started, finished or not.',
    { labels: [METHOD], isOnByDefault: true },
  ),
  'grpc.server.call.duration': histogram(
    's',
    'The time from the headers of a call to its status, as the transport of the server sees it.',
    { ...ofServerCalls, buckets: LATENCY_BUCKETS },
  ),
  'grpc.server.call.sent_total_compressed_message_size': histogram(
    'By',
    'The bytes of all messages of a call that a server sent, compressed, without headers.',
    { ...ofServerCalls, buckets: SIZE_BUCKETS },
  ),
  'grpc.server.call.rcvd_total_compressed_message_size': histogram(
    'By',
    'The bytes of all messages of a call that a server received, compressed, without headers.',
    { ...ofServerCalls, buckets: SIZE_BUCKETS },
  ),
  'grpc.lb.wrr.rr_fallback': counter(
    '{update}',
    'The number of scheduler updates that had fewer than two usable weights.',
    byPlace,
  ),
  'grpc.lb.wrr.endpoint_weight_not_yet_usable': counter(
    '{endpoint}',
    'The number of endpoints, at each scheduler update, that have no weight yet or are in the blackout period.',
    byPlace,
  ),
  'grpc.lb.wrr.endpoint_weight_stale': counter(
    '{endpoint}',
    'The number of endpoints, at each scheduler update, whose weight has expired.',
    byPlace,
  ),
  'grpc.lb.wrr.endpoint_weights': histogram(
    '{weight}',
    'The weight of each endpoint at each scheduler update; 0 if it is not usable.',
    { ...byPlace, buckets: WEIGHT_BUCKETS },
  ),
  'grpc.subchannel.disconnections': counter(
    '{disconnection}',
    'The number of connections that were lost or closed.',
    { optionalLabels: [LOCALITY, BACKEND_SERVICE, LbLabel.DISCONNECT_ERROR] },
  ),
  'grpc.subchannel.connection_attempts_succeeded': counter(
    '{attempt}',
    'The number of attempts to connect that succeeded.',
    byPlace,
  ),
  'grpc.subchannel.connection_attempts_failed': counter(
    '{attempt}',
    'The number of attempts to connect that failed.',
    byPlace,
  ),
  'grpc.subchannel.open_connections': upDownCounter(
    '{connection}',
    'The number of connections that are open.',
    { optionalLabels: [LOCALITY, BACKEND_SERVICE, LbLabel.SECURITY_LEVEL] },
  ),
  'grpc.lb.outlier_detection.ejections_enforced': counter(
    '{ejection}',
    'The number of ejections of outliers.',
    { labels: [TARGET, LbLabel.DETECTION_METHOD], optionalLabels: [BACKEND_SERVICE] },
  ),
  'grpc.lb.outlier_detection.ejections_unenforced': counter(
    '{ejection}',
    'The number of outliers that were not ejected because of the enforcement or the max ejection percentage.',
    {
      labels: [TARGET, LbLabel.DETECTION_METHOD, LbLabel.UNENFORCED_REASON],
      optionalLabels: [BACKEND_SERVICE],
    },
  ),
  'grpc.client_ext_authz.allowed_rpcs': counter(
    '{RPC}',
    'The number of calls that an authorization server allowed.',
  ),
  'grpc.client_ext_authz.denied_rpcs': counter(
    '{RPC}',
    'The number of calls that an authorization server denied.',
  ),
  'grpc.client_ext_authz.filter_disabled_rpcs': counter(
    '{RPC}',
    'The number of calls for which the filter was disabled.',
  ),
  'grpc.client_ext_authz.failed_rpcs': counter(
    '{RPC}',
    'The number of calls for which the authorization server gave no usable answer.',
  ),
  'grpc.server_ext_authz.allowed_rpcs': counter(
    '{RPC}',
    'The number of calls of servers that an authorization server allowed.',
    { labels: [] },
  ),
  'grpc.server_ext_authz.denied_rpcs': counter(
    '{RPC}',
    'The number of calls of servers that an authorization server denied.',
    { labels: [] },
  ),
  'grpc.server_ext_authz.filter_disabled_rpcs': counter(
    '{RPC}',
    'The number of calls of servers for which the filter was disabled.',
    { labels: [] },
  ),
  'grpc.server_ext_authz.failed_rpcs': counter(
    '{RPC}',
    'The number of calls of servers for which the authorization server gave no usable answer.',
    { labels: [] },
  ),
  'grpc.lb.rls.cache_entries': gauge(
    '{entry}',
    'The number of entries in the cache of an rls policy.',
    ofLookupCache,
  ),
  'grpc.lb.rls.cache_size': gauge('By', 'The size of the cache of an rls policy.', ofLookupCache),
  'grpc.lb.rls.default_target_picks': counter(
    '{pick}',
    'The number of picks that went to the default target.',
    ofRlsPicks,
  ),
  'grpc.lb.rls.target_picks': counter(
    '{pick}',
    'The number of picks that went to a target of a response, even if it is the default target.',
    ofRlsPicks,
  ),
  'grpc.lb.rls.failed_picks': counter(
    '{pick}',
    'The number of picks that failed because the lookup failed or was throttled.',
    { labels: byLookupService },
  ),
  'grpc.xds_client.connected': gauge(
    '{bool}',
    'Whether the ADS stream to a management server works: 0 from a failure to the next response.',
    byServer,
  ),
  'grpc.xds_client.server_failure': counter(
    '{failure}',
    'The number of times that a management server became unreachable.',
    byServer,
  ),
  'grpc.xds_client.resource_updates_valid': counter(
    '{resource}',
    'The number of resources received that were valid, changed or not.',
    byServerAndType,
  ),
  'grpc.xds_client.resource_updates_invalid': counter(
    '{resource}',
    'The number of resources received that were not valid.',
    byServerAndType,
  ),
  'grpc.xds_client.resources': gauge(
    '{resource}',
    'The number of resources watched for a target, by their state in the cache.',
    { labels: [TARGET, AUTHORITY, CACHE_STATE, RESOURCE_TYPE] },
  ),
  'grpc.client.tls.handshakes': counter(
    '{handshake}',
    'The number of TLS handshakes with endpoints that have ended.',
    {
      labels: [TARGET, HANDSHAKE_RESULT],
      optionalLabels: [HANDSHAKE_RESUMED, LOCALITY, BACKEND_SERVICE],
    },
  ),
  'grpc.server.tls.handshakes': counter(
    '{handshake}',
    'The number of TLS handshakes of XdsServers with clients that have ended.',
    { labels: [HANDSHAKE_RESULT], optionalLabels: [HANDSHAKE_RESUMED] },
  ),
  'grpc_xds.lb.priority_in_use': gauge(
    '{priority}',
    'The priority whose endpoints a cluster uses, from 0.',
    byCluster,
  ),
  'grpc_xds.lb.endpoints': gauge(
    '{endpoint}',
    'The number of endpoints of a cluster by connectivity state, in priorities in use.',
    { labels: [TARGET, BACKEND_SERVICE, OwnLabel.ENDPOINT_STATE] },
  ),
  'grpc_xds.lb.drops': counter(
    '{call}',
    'The number of calls that a cluster dropped, by category.',
    { labels: [TARGET, BACKEND_SERVICE, OwnLabel.DROP_CATEGORY] },
  ),
  'grpc_xds.config.apply_duration': histogram(
    's',
    'The time from a response of a management server to the pickers that follow from it, by target.',
    { buckets: LATENCY_BUCKETS },
  ),
  'grpc_xds.config.held_back_duration': gauge(
    's',
    'The time for which an accepted resource has not been in use because others are pending, of the oldest one; 0 if there is none.',
  ),
  'grpc_xds.xds_client.short_streams': gauge(
    '{stream}',
    'The number of streams in a row that a management server has ended soon after they opened, while there are pauses between them because of that; else 0.',
    byServer,
  ),
  'grpc_xds.fallback_active': gauge(
    '{bool}',
    'Whether another management server than the first of an authority is in use.',
    { labels: [TARGET, AUTHORITY] },
  ),
  'grpc_xds.server.serving': gauge('{bool}', 'Whether an address is served.', byAddress),
  'grpc_xds.server.connections': gauge(
    '{connection}',
    'The number of connections to an address, by whether they accept calls.',
    { labels: [TARGET, ADDRESS, ServerLabel.CONNECTION_STATE] },
  ),
  'grpc_xds.server.calls_in_progress': gauge(
    '{call}',
    'The number of calls to an address that have not ended.',
    byAddress,
  ),
  'grpc_xds.server.handshakes': counter(
    '{handshake}',
    'The number of TLS handshakes with clients that have ended, by result and cause.',
    { labels: [TARGET, ADDRESS, HANDSHAKE_RESULT, ServerLabel.HANDSHAKE_CAUSE] },
  ),
  'grpc_xds.server.refusals': counter(
    '{call}',
    'The number of calls that were refused, such as denied by a policy.',
    {
      labels: [
        ...byAddress.labels,
        STATUS,
        ServerLabel.FILTER,
        ServerLabel.ACTION,
        ServerLabel.POLICY,
      ],
    },
  ),
  'grpc_xds.relay.clients': gauge(
    '{stream}',
    'The number of discovery streams of clients of a relay.',
  ),
  'grpc_xds.relay.subscriptions': gauge(
    '{name}',
    'The number of names that the clients of a relay subscribe to, all together.',
    byType,
  ),
  'grpc_xds.relay.relayed_size': counter(
    'By',
    'Bytes of the resources that a relay has sent to its clients.',
    byType,
  ),
  'grpc_xds.relay.rejections': counter(
    '{response}',
    'The number of responses that clients of a relay have rejected (NACK).',
    byType,
  ),
};

/** Every instrument of this package. */
export const allInstruments: readonly Instrument[] = Object.entries(definitions).map(
  ([name, definition]) => ({ name, ...definition }),
);
