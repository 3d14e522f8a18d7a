import { ClientLabel } from './client-instruments';
import { defineInstrument, Label, LATENCY_BUCKETS, type Instrument } from './instrument';

/** Labels of the instruments that no gRFC defines. */
export const OwnLabel = {
  /** Such as `READY`. */
  ENDPOINT_STATE: 'grpc_xds.lb.endpoint_state',
  /** As the control plane names it; empty for calls over the limit of concurrent requests. */
  DROP_CATEGORY: 'grpc_xds.lb.drop_category',
} as const;

const cluster = [Label.TARGET, Label.BACKEND_SERVICE];

/** The instruments that no gRFC defines. Their names do not begin as those of gRPC do (gRFC A79). */
export const OwnInstruments = {
  PRIORITY_IN_USE: defineInstrument({
    name: 'grpc_xds.lb.priority_in_use',
    description: 'The priority whose endpoints a cluster uses, from 0.',
    unit: '{priority}',
    kind: 'gauge',
    labels: cluster,
  }),
  ENDPOINTS: defineInstrument({
    name: 'grpc_xds.lb.endpoints',
    description:
      'The number of endpoints of a cluster by connectivity state, in priorities in use.',
    unit: '{endpoint}',
    kind: 'gauge',
    labels: [...cluster, OwnLabel.ENDPOINT_STATE],
  }),
  DROPS: defineInstrument({
    name: 'grpc_xds.lb.drops',
    description: 'The number of calls that a cluster dropped, by category.',
    unit: '{call}',
    kind: 'counter',
    labels: [...cluster, OwnLabel.DROP_CATEGORY],
  }),
  APPLY_DURATION: defineInstrument({
    name: 'grpc_xds.config.apply_duration',
    description:
      'The time from a response of a management server to the pickers that follow from it, by target.',
    unit: 's',
    kind: 'histogram',
    buckets: LATENCY_BUCKETS,
  }),
  FALLBACK_ACTIVE: defineInstrument({
    name: 'grpc_xds.fallback_active',
    description: 'Whether another management server than the first of an authority is in use.',
    unit: '{bool}',
    kind: 'gauge',
    labels: [Label.TARGET, ClientLabel.AUTHORITY],
  }),
} as const satisfies Readonly<Record<string, Instrument>>;
