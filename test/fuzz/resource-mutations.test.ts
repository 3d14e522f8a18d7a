import { createResourceTypes } from '../../src/resources/resource-types';
import { decodeWhole, type ResourceType } from '../../src/xds-client/resource-type';
import { encode, extensions, serverWith } from '../resources/decode-json';
import { seededRandom } from '../support/seeded-random';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

const MUTATIONS = 1000;
const random = seededRandom(20_260_117);
const below = (limit: number) => Math.floor(random() * limit);
const types = createResourceTypes({ ...extensions, keepDraining: true });

const routes: readonly Json[] = [
  {
    name: 'all-there-is',
    match: {
      safe_regex: { regex: '/(a|b)+/[^/]*' },
      headers: [
        { name: 'a', range_match: { start: 1, end: 9 } },
        { name: 'b', string_match: { safe_regex: { regex: 'x{2,5}' }, ignore_case: true } },
        { name: 'c', present_match: false, invert_match: true },
      ],
      runtime_fraction: { default_value: { numerator: 3, denominator: 'TEN_THOUSAND' } },
    },
    route: {
      weighted_clusters: {
        clusters: [
          { name: 'x', weight: 3 },
          { name: 'y', weight: 4 },
        ],
      },
      retry_policy: {
        retry_on: 'unavailable,internal',
        num_retries: 3,
        retry_back_off: { base_interval: '0.1s', max_interval: '1s' },
      },
      max_stream_duration: { grpc_timeout_header_max: '3s' },
      hash_policy: [
        {
          header: {
            header_name: 'user',
            regex_rewrite: { pattern: { regex: '(.*)-' }, substitution: '\\1' },
          },
        },
        { filter_state: { key: 'io.grpc.channel_id' }, terminal: true },
      ],
    },
    typed_per_filter_config: {
      fault: {
        '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig',
        config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
          abort: { http_status: 503, percentage: { numerator: 1 } },
        },
      },
    },
  },
  { match: { prefix: '/' }, redirect: {} },
  routeToCluster('z'),
];

const samples: readonly (readonly [ResourceType<unknown>, Uint8Array])[] = (
  [
    [types.listener, listenerJson('svc', 'routes')],
    [
      types.listener,
      listenerJson('svc', '', { rds: undefined, route_config: routeConfigJson('in', routes) }),
    ],
    [types.routeConfig, routeConfigJson('routes', routes)],
    [
      types.cluster,
      edsClusterJson('c', {
        lb_policy: 'RING_HASH',
        ring_hash_lb_config: { minimum_ring_size: 10, maximum_ring_size: 100 },
        outlier_detection: { interval: '1s', enforcing_failure_percentage: 50 },
        circuit_breakers: { thresholds: [{ max_requests: 5 }] },
        lrs_server: { self: {} },
      }),
    ],
    [
      types.cluster,
      {
        name: 'agg',
        cluster_type: {
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig',
            clusters: ['a', 'b'],
          },
        },
        load_balancing_policy: {
          policies: [
            {
              typed_extension_config: {
                typed_config: {
                  '@type':
                    'type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin',
                },
              },
            },
          ],
        },
      },
    ],
    [
      types.endpoints,
      {
        ...endpointsJson('c', [
          { zone: 'a', ports: [1, 2, 3] },
          { zone: 'b', priority: 1, ports: [4] },
        ]),
        policy: { drop_overloads: [{ category: 'd', drop_percentage: { numerator: 1 } }] },
      },
    ],
  ] as const
).map(([type, json]) => [type, encode(type, json)]);

/** Flips a bit, sets a byte, cuts the end off, or moves, repeats or removes a piece. */
function mutate(bytes: Uint8Array): Uint8Array {
  const from = below(bytes.length);
  const to = from + 1 + below(Math.min(16, bytes.length - from));
  const piece = bytes.subarray(from, to);
  const at = below(bytes.length);
  switch (below(6)) {
    case 0:
      return bytes.with(at, (bytes[at] ?? 0) ^ (1 << below(8)));
    case 1:
      return bytes.with(at, below(256));
    case 2:
      return bytes.slice(0, from);
    case 3:
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
    default:
      return Buffer.concat([bytes, piece]);
  }
}

/** Why the answer to some bytes cannot be right; `undefined` if it may be. */
function complaint(type: ResourceType<unknown>, bytes: Uint8Array): string | undefined {
  const { name, result } = decodeWhole(type, bytes, {
    server: serverWith(),
    previous: () => undefined,
  });
  if (name !== type.peekName(bytes)) return 'the name depends on how it is read';
  if (result.ok) return name === undefined ? 'a value without a name' : undefined;
  if (result.error.length === 0) return 'refused without a reason';
  const vague = result.error.find((reason) => /undefined|\[object|NaN/.test(reason));
  return vague === undefined ? undefined : `says nothing: ${vague}`;
}

describe('the resource parsers', () => {
  it('accept all samples', () => {
    const refused = samples.filter(([type, bytes]) => {
      const { result } = decodeWhole(type, bytes, {
        server: serverWith(),
        previous: () => undefined,
      });
      return !result.ok;
    });
    expect(refused).toEqual([]);
  });

  it('give a value or a reason for whatever becomes of a valid resource, and never throw', () => {
    const outcomes = { accepted: 0, refused: 0 };
    for (let i = 0; i < MUTATIONS; i++) {
      const sample = samples[i % samples.length];
      if (sample === undefined) throw new Error('no samples');
      const [type, original] = sample;
      let bytes = original;
      for (let rest = 1 + below(2); rest > 0 && bytes.length > 0; rest--) bytes = mutate(bytes);
      const problem = complaint(type, bytes);
      if (problem !== undefined) {
        throw new Error(`${type.typeName} ${Buffer.from(bytes).toString('hex')}: ${problem}`);
      }
      const { result } = decodeWhole(type, bytes, {
        server: serverWith(),
        previous: () => undefined,
      });
      if (result.ok) outcomes.accepted++;
      else outcomes.refused++;
    }
    // Both sides of the line must have been visited for this to mean anything.
    expect(outcomes.accepted).toBeGreaterThan(50);
    expect(outcomes.refused).toBeGreaterThan(500);
  });

  it('refuse every beginning of a resource or know its name', () => {
    for (const [type, bytes] of samples) {
      for (let length = 0; length < bytes.length; length++) {
        expect(complaint(type, bytes.slice(0, length))).toBeUndefined();
      }
    }
  });
});
