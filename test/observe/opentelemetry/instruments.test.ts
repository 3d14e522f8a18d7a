import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allInstruments } from '../../../src/observe/stats/instrument-table';
import { observe, createMetricProducer } from '../../../src/observe/opentelemetry';
import { XdsError } from '../../../src/util/xds-error';

const M = 'grpc.method';
const T = 'grpc.target';
const S = 'grpc.status';
const L = 'grpc.lb.locality';
const B = 'grpc.lb.backend_service';
const C = 'grpc.client.call.custom';
const V = 'grpc.xds.server';
const R = 'grpc.xds.resource_type';
const A = 'grpc_xds.server.address';
const K = 'grpc.lb.rls.server_target';

const LATENCY = [
  0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006,
  0.008, 0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25,
  0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10, 20, 50, 100,
];
const SIZE = [
  0, 1024, 2048, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456,
  1073741824, 4294967296,
];
const WEIGHTS = [0, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

type Row = readonly [
  name: string,
  kind: string,
  unit: string,
  labels: readonly string[],
  optional: readonly string[],
  buckets: readonly number[],
  on: boolean,
];

/** Name, kind, unit, labels, optional labels, buckets and whether it is on, as the gRFCs have them. */
const ROWS: readonly Row[] = [
  ['grpc.client.attempt.started', 'counter', '{attempt}', [M, T], [C], [], true],
  ['grpc.client.attempt.duration', 'histogram', 's', [M, T, S], [L, B, C], LATENCY, true],
  ...['sent', 'rcvd'].map((direction): Row => [
    `grpc.client.attempt.${direction}_total_compressed_message_size`,
    ...(['histogram', 'By', [M, T, S], [L, B, C], SIZE, true] as const),
  ]),
  ['grpc.client.call.duration', 'histogram', 's', [M, T, S], [C], LATENCY, true],
  ['grpc.client.call.retries', 'histogram', '{retry}', [M, T], [C], [1, 2, 3, 4, 5], false],
  [
    'grpc.client.call.transparent_retries',
    ...(['histogram', '{transparent_retry}', [M, T], [C], [1, 2, 3, 4, 5, 10], false] as const),
  ],
  ['grpc.client.call.hedges', 'histogram', '{hedge}', [M, T], [C], [1, 2, 3, 4, 5], false],
  ['grpc.client.call.retry_delay', 'histogram', 's', [M, T], [C], LATENCY, false],
  ['grpc.server.call.started', 'counter', '{call}', [M], [], [], true],
  ['grpc.server.call.duration', 'histogram', 's', [M, S], [], LATENCY, true],
  ...['sent', 'rcvd'].map((direction): Row => [
    `grpc.server.call.${direction}_total_compressed_message_size`,
    ...(['histogram', 'By', [M, S], [], SIZE, true] as const),
  ]),
  [
    'grpc.server.tls.handshakes',
    ...(['counter', '{handshake}', ['grpc.tls.handshake.result']] as const),
    ...([['grpc.tls.handshake.resumed'], [], false] as const),
  ],
  ...(
    [
      ['cache_entries', 'gauge', '{entry}', 'instance_uuid'],
      ['cache_size', 'gauge', 'By', 'instance_uuid'],
      ['failed_picks', 'counter', '{pick}'],
    ] as const
  ).map(([name, kind, unit, ...own]): Row => [
    `grpc.lb.rls.${name}`,
    ...([kind, unit, [T, K, ...own.map((label) => `grpc.lb.rls.${label}`)]] as const),
    ...([[], [], false] as const),
  ]),
  ...['default_target_picks', 'target_picks'].map((name): Row => [
    `grpc.lb.rls.${name}`,
    ...([
      'counter',
      '{pick}',
      [T, K, 'grpc.lb.rls.data_plane_target', 'grpc.lb.pick_result'],
    ] as const),
    ...([[], [], false] as const),
  ]),
  ['grpc.lb.wrr.rr_fallback', 'counter', '{update}', [T], [L, B], [], false],
  ['grpc.lb.wrr.endpoint_weight_not_yet_usable', 'counter', '{endpoint}', [T], [L, B], [], false],
  ['grpc.lb.wrr.endpoint_weight_stale', 'counter', '{endpoint}', [T], [L, B], [], false],
  ['grpc.lb.wrr.endpoint_weights', 'histogram', '{weight}', [T], [L, B], WEIGHTS, false],
  [
    'grpc.subchannel.disconnections',
    ...(['counter', '{disconnection}', [T], [L, B, 'grpc.disconnect_error'], [], false] as const),
  ],
  ...['succeeded', 'failed'].map((result): Row => [
    `grpc.subchannel.connection_attempts_${result}`,
    ...(['counter', '{attempt}', [T], [L, B], [], false] as const),
  ]),
  [
    'grpc.subchannel.open_connections',
    ...(['up-down-counter', '{connection}', [T]] as const),
    ...([[L, B, 'grpc.security_level'], [], false] as const),
  ],
  [
    'grpc.lb.outlier_detection.ejections_enforced',
    ...(['counter', '{ejection}'] as const),
    ...([[T, 'grpc.lb.outlier_detection.detection_method'], [B], [], false] as const),
  ],
  [
    'grpc.lb.outlier_detection.ejections_unenforced',
    ...(['counter', '{ejection}'] as const),
    [
      T,
      'grpc.lb.outlier_detection.detection_method',
      'grpc.lb.outlier_detection.unenforced_reason',
    ],
    ...([[B], [], false] as const),
  ],
  ['grpc.xds_client.connected', 'gauge', '{bool}', [T, V], [], [], false],
  ['grpc.xds_client.server_failure', 'counter', '{failure}', [T, V], [], [], false],
  ['grpc.xds_client.resource_updates_valid', 'counter', '{resource}', [T, V, R], [], [], false],
  ['grpc.xds_client.resource_updates_invalid', 'counter', '{resource}', [T, V, R], [], [], false],
  [
    'grpc.xds_client.resources',
    ...(['gauge', '{resource}'] as const),
    ...([[T, 'grpc.xds.authority', 'grpc.xds.cache_state', R], [], [], false] as const),
  ],
  [
    'grpc.client.tls.handshakes',
    ...(['counter', '{handshake}', [T, 'grpc.tls.handshake.result']] as const),
    ...([['grpc.tls.handshake.resumed', L, B], [], false] as const),
  ],
  ['grpc_xds.lb.priority_in_use', ...(['gauge', '{priority}', [T, B], [], [], false] as const)],
  [
    'grpc_xds.lb.endpoints',
    ...(['gauge', '{endpoint}', [T, B, 'grpc_xds.lb.endpoint_state'], [], [], false] as const),
  ],
  [
    'grpc_xds.lb.drops',
    ...(['counter', '{call}', [T, B, 'grpc_xds.lb.drop_category'], [], [], false] as const),
  ],
  ['grpc_xds.config.held_back_duration', ...(['gauge', 's', [T], [], [], false] as const)],
  ['grpc_xds.config.apply_duration', ...(['histogram', 's', [T], [], LATENCY, false] as const)],
  [
    'grpc_xds.xds_client.short_streams',
    ...(['gauge', '{stream}', [T, 'grpc.xds.server'], [], [], false] as const),
  ],
  [
    'grpc_xds.fallback_active',
    ...(['gauge', '{bool}', [T, 'grpc.xds.authority'], [], [], false] as const),
  ],
  ['grpc_xds.server.serving', ...(['gauge', '{bool}', [T, A], [], [], false] as const)],
  ['grpc_xds.server.calls_in_progress', ...(['gauge', '{call}', [T, A], [], [], false] as const)],
  [
    'grpc_xds.server.connections',
    ...(['gauge', '{connection}', [T, A, 'grpc_xds.server.connection_state']] as const),
    ...([[], [], false] as const),
  ],
  [
    'grpc_xds.server.handshakes',
    ...(['counter', '{handshake}'] as const),
    [T, A, 'grpc.tls.handshake.result', 'grpc_xds.server.handshake_cause'],
    ...([[], [], false] as const),
  ],
  [
    'grpc_xds.server.refusals',
    ...(['counter', '{call}'] as const),
    [T, A, S, ...['filter', 'action', 'policy'].map((label) => `grpc_xds.server.${label}`)],
    ...([[], [], false] as const),
  ],
  ...['allowed', 'denied', 'failed', 'filter_disabled'].map((outcome): Row => [
    `grpc.client_ext_authz.${outcome}_rpcs`,
    ...(['counter', '{RPC}', [T], [], [], false] as const),
  ]),
  ...['allowed', 'denied', 'failed', 'filter_disabled'].map((outcome): Row => [
    `grpc.server_ext_authz.${outcome}_rpcs`,
    ...(['counter', '{RPC}', [], [], [], false] as const),
  ]),
  ['grpc_xds.relay.clients', ...(['gauge', '{stream}', [T], [], [], false] as const)],
  ['grpc_xds.relay.subscriptions', ...(['gauge', '{name}', [T, R], [], [], false] as const)],
  ['grpc_xds.relay.relayed_size', ...(['counter', 'By', [T, R], [], [], false] as const)],
  ['grpc_xds.relay.rejections', ...(['counter', '{response}', [T, R], [], [], false] as const)],
];

describe('the instruments', () => {
  it.each(ROWS)('has %s, a %s in %s', (name, kind, unit, labels, optional, buckets, on) => {
    const instrument = allInstruments.find((one) => one.name === name);
    expect(instrument).toEqual({
      name,
      kind,
      unit,
      buckets,
      description: expect.stringMatching(/^[A-Z].*\.$/),
      labels: expect.arrayContaining([...labels]),
      optionalLabels: expect.arrayContaining([...optional]),
      isOnByDefault: on,
    });
    expect(instrument?.labels.length).toBe(labels.length);
    expect(instrument?.optionalLabels.length).toBe(optional.length);
  });

  it('has no others', () => {
    const names = allInstruments.map(({ name }) => name);
    expect(names.sort()).toEqual(ROWS.map(([name]) => name).sort());
  });
});

describe('observe', () => {
  const metricProducer = createMetricProducer();

  it('rejects names that do not exist, and says which do', () => {
    expect(() => observe({ metricProducer, enableMetrics: ['grpc.lb.wrr.fallback'] })).toThrow(
      'grpc-xds: observe(): there is no metric "grpc.lb.wrr.fallback"; there are grpc.client.attempt.started, ',
    );
    expect(() => observe({ metricProducer, optionalLabels: [M] })).toThrow(
      `grpc-xds: observe(): there is no optional label "${M}"; there are ${C}, `,
    );
  });

  it('rejects options without a provider: the global one is not used', () => {
    expect(() => observe({})).toThrow(XdsError);
  });

  it('rejects producers of other packages', () => {
    const other = { collect: () => metricProducer.collect() };
    expect(() => observe({ metricProducer: other })).toThrow(
      'must be made by createMetricProducer()',
    );
  });
});

describe('docs/metrics.md', () => {
  it('names only metrics that there are', () => {
    const text = readFileSync(join(__dirname, '../../../docs/metrics.md'), 'utf8');
    const rows = [...text.matchAll(/^\| (`grpc[._][^|]+)\|/gm)].map(([, cell = '']) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)]);
    expect(named.length).toBeGreaterThan(5);
    const names = new Set(allInstruments.map(({ name }) => name));
    expect(named.map(([, name = '']) => name).filter((name) => !names.has(name))).toEqual([]);
  });
});
