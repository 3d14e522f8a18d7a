import { defineInstrument, Label, type Instrument } from './instrument';

const { TARGET, LOCALITY, BACKEND_SERVICE } = Label;

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
