import { Cluster } from '../../src/wire/generated/envoy/config/cluster/v3/cluster';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import { createClusterResourceType } from '../../src/resources/cluster/cluster-parser';
import { roundRobinPolicy } from '../../src/lb/round-robin/balancer';
import { wrrLocalityPolicy } from '../../src/lb/wrr-locality/balancer';
import { LbPolicyRegistry } from '../../src/lb/registry/lb-policy-registry';
import { edsClusterJson, type Json } from '../support/xds-json';
import {
  decodeBytes,
  encode,
  extensions,
  serverWith,
  types,
  valueOf,
  violationsOf,
} from './decode-json';

const TYPE = 'type.googleapis.com';
const any = (type: string, extra: Json = {}): Json => ({ '@type': `${TYPE}/${type}`, ...extra });

const parse = (json: Json): ClusterResource => valueOf(types.cluster, json);
const parseEds = (extra: Json) => parse(edsClusterJson('c', extra));
const reject = (json: Json) => violationsOf(types.cluster, json);
const rejectEds = (extra: Json) => reject(edsClusterJson('c', extra));

describe('a cluster', () => {
  it('has defaults for everything', () => {
    expect(parse(edsClusterJson('c'))).toEqual({
      name: 'c',
      discovery: { kind: 'eds', edsResourceName: 'c', serviceName: '' },
      lbConfig: {
        policyName: 'json',
        json: [{ xds_wrr_locality_experimental: { childPolicy: [{ round_robin: {} }] } }],
      },
      lrsServer: undefined,
      lrsReportEndpointMetrics: [],
      maxRequests: 1024,
      outlierDetection: undefined,
      overrideHostStatuses: new Set(['UNKNOWN', 'HEALTHY']),
      connectionIdleTimeoutMs: 3_600_000,
    });
  });

  it('counts against the limit of all clusters with every field that is read, unknown ones included', () => {
    const fieldsOf = (bytes: Uint8Array) => {
      const { result } = decodeBytes(types.cluster, bytes);
      if (!result.ok) throw new Error(result.error.join());
      return types.cluster.countElements?.(result.value, result.fields ?? 0) ?? 0;
    };
    const bytes = encode(types.cluster, edsClusterJson('c'));
    const before = fieldsOf(bytes);
    expect(before).toBeGreaterThan(0);
    const unknown = Buffer.from([0xfa, 0x3e, 0x00]);
    expect(fieldsOf(Buffer.concat([bytes, unknown, unknown, unknown]))).toBe(before + 3);
    expect(types.cluster.elementLimit).toMatchObject({ noun: 'fields', max: 2_000_000 });
  });

  it('may have a name that means something to JavaScript', () => {
    expect(parse(edsClusterJson('__proto__')).discovery).toMatchObject({
      edsResourceName: '__proto__',
    });
  });

  it('reports load to the server it came from, if at all', () => {
    const server = serverWith();
    const json = edsClusterJson('c', {
      lrs_server: { self: {} },
      lrs_report_endpoint_metrics: ['cpu_utilization', 'named_metrics.*', 'whatever'],
    });
    const cluster = valueOf(types.cluster, json, { server });
    expect(cluster.lrsServer).toBe(server);
    expect(cluster.lrsReportEndpointMetrics).toEqual([
      'cpu_utilization',
      'named_metrics.*',
      'whatever',
    ]);
  });

  it.each<[string, Json, number]>([
    ['no thresholds', { thresholds: [] }, 1024],
    [
      'none for the default priority',
      { thresholds: [{ priority: 'HIGH', max_requests: 1 }] },
      1024,
    ],
    ['none for requests', { thresholds: [{ max_connections: 1 }, { max_requests: 2 }] }, 1024],
    [
      // The first, not the last, and not the first of any priority.
      'several',
      {
        thresholds: [
          { priority: 'HIGH', max_requests: 1 },
          { priority: 'DEFAULT', max_requests: 2 },
          { max_requests: 3 },
        ],
      },
      2,
    ],
    ['a limit of none', { thresholds: [{ max_requests: 0 }] }, 0],
    ['limits per host', { per_host_thresholds: [{ max_requests: 5 }] }, 1024],
  ])('with circuit breakers that have %s', (_case, circuit_breakers, expected) => {
    expect(parseEds({ circuit_breakers }).maxRequests).toBe(expected);
  });

  it.each<[Json | undefined, readonly string[]]>([
    [undefined, ['UNKNOWN', 'HEALTHY']],
    [{}, ['UNKNOWN', 'HEALTHY']],
    [{ override_host_status: {} }, []],
    [{ override_host_status: { statuses: ['DRAINING', 'UNKNOWN'] } }, ['DRAINING', 'UNKNOWN']],
    [{ override_host_status: { statuses: ['DEGRADED', 'HEALTHY', 77] } }, ['HEALTHY']],
  ])('with common_lb_config %j lets sessions stick to %j', (common_lb_config, expected) => {
    expect([...parseEds({ common_lb_config }).overrideHostStatuses]).toEqual(expected);
  });

  it('may have an idle timeout for its connections', () => {
    const typed_config = any('envoy.extensions.upstreams.http.v3.HttpProtocolOptions', {
      common_http_protocol_options: { idle_timeout: '60s' },
    });
    const cluster = parseEds({ upstream_config: { name: 'x', typed_config } });
    expect(cluster.connectionIdleTimeoutMs).toBe(60_000);
  });
});

describe('the discovery of endpoints', () => {
  const endpoint = (socket_address: Json): Json => ({
    endpoint: { address: { socket_address } },
  });
  const dns = (...lb_endpoints: readonly Json[]): Json => ({
    name: 'c',
    type: 'LOGICAL_DNS',
    load_assignment: { endpoints: [{ lb_endpoints }] },
  });
  const aggregate = (typed_config: Json | undefined): Json => ({
    name: 'c',
    cluster_type: { name: 'envoy.clusters.aggregate', typed_config },
  });
  const AGGREGATE = 'envoy.extensions.clusters.aggregate.v3.ClusterConfig';
  const SOCKET = 'load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address';

  it('goes by the service name, if there is one', () => {
    const eds_cluster_config = { eds_config: { self: {} }, service_name: 'svc' };
    expect(parseEds({ eds_cluster_config }).discovery).toEqual({
      kind: 'eds',
      edsResourceName: 'svc',
      serviceName: 'svc',
    });
  });

  it('needs a service name where the name of the cluster is an xdstp one', () => {
    const name = 'xdstp://auth/envoy.config.cluster.v3.Cluster/c';
    const eds_cluster_config = { eds_config: { ads: {} }, service_name: 'svc' };
    expect(parse(edsClusterJson(name, { eds_cluster_config })).discovery).toMatchObject({
      edsResourceName: 'svc',
    });
    expect(reject(edsClusterJson(name))).toEqual([
      'eds_cluster_config.service_name: must not be empty, because the name of the cluster is an xdstp one',
    ]);
  });

  it('needs no service name under an xdstp name without federation, where that is a name as any other', () => {
    const name = 'xdstp://auth/envoy.config.cluster.v3.Cluster/c';
    const type = createClusterResourceType({ ...extensions, federation: false });
    expect(valueOf(type, edsClusterJson(name)).discovery).toMatchObject({ edsResourceName: name });
  });

  it('may be by DNS', () => {
    const cluster = parse(dns(endpoint({ address: 'db.example.com', port_value: 443 })));
    expect(cluster.discovery).toEqual({ kind: 'logical-dns', host: 'db.example.com', port: 443 });
  });

  it('takes CLUSTER_PROVIDED, which Envoy demands of an aggregate, for the policy it is not (A75)', () => {
    const provided = {
      ...aggregate(any(AGGREGATE, { clusters: ['a'] })),
      lb_policy: 'CLUSTER_PROVIDED',
    };
    expect(parse(provided).discovery).toEqual({ kind: 'aggregate', clusters: ['a'] });
  });

  it('may be by other clusters', () => {
    const clusters = ['first', 'second', 'first'];
    expect(parse(aggregate(any(AGGREGATE, { clusters }))).discovery).toEqual({
      kind: 'aggregate',
      clusters,
    });
  });

  it.each<[string, Json, readonly string[]]>([
    [
      'no type',
      { name: 'c' },
      ['type: must be EDS or LOGICAL_DNS, unless cluster_type makes an aggregate, but is missing'],
    ],
    [
      'another type',
      { name: 'c', type: 'STRICT_DNS' },
      [
        'type: must be EDS or LOGICAL_DNS, unless cluster_type makes an aggregate, but is STRICT_DNS',
      ],
    ],
    [
      'a type from the future',
      { name: 'c', type: 42 },
      ['type: must be EDS or LOGICAL_DNS, unless cluster_type makes an aggregate, but is 42'],
    ],
    ['no EDS config', { name: 'c', type: 'EDS' }, ['eds_cluster_config: field not present']],
    [
      'no EDS source',
      { name: 'c', type: 'EDS', eds_cluster_config: {} },
      ['eds_cluster_config.eds_config: field not present'],
    ],
    [
      'EDS from a file',
      { name: 'c', type: 'EDS', eds_cluster_config: { eds_config: { path: '/etc/eds' } } },
      ['eds_cluster_config.eds_config: must be ads or self'],
    ],
    [
      'EDS from an API of its own',
      { name: 'c', type: 'EDS', eds_cluster_config: { eds_config: { api_config_source: {} } } },
      ['eds_cluster_config.eds_config: must be ads or self'],
    ],
    ['no DNS name', { name: 'c', type: 'LOGICAL_DNS' }, ['load_assignment: field not present']],
    [
      'no DNS locality',
      { name: 'c', type: 'LOGICAL_DNS', load_assignment: {} },
      ['load_assignment.endpoints: a LOGICAL_DNS cluster must have exactly one locality, not 0'],
    ],
    [
      'two DNS localities',
      { name: 'c', type: 'LOGICAL_DNS', load_assignment: { endpoints: [{}, {}] } },
      ['load_assignment.endpoints: a LOGICAL_DNS cluster must have exactly one locality, not 2'],
    ],
    [
      'two DNS endpoints',
      dns({}, {}),
      [
        'load_assignment.endpoints[0].lb_endpoints: a LOGICAL_DNS cluster must have exactly one endpoint, not 2',
      ],
    ],
    ['a DNS endpoint that is none', dns({}), [`${SOCKET}: field not present`]],
    ['a named DNS endpoint', dns({ endpoint_name: 'e' }), [`${SOCKET}: field not present`]],
    [
      'a DNS endpoint with a pipe',
      dns({ endpoint: { address: { pipe: { path: '/tmp/x' } } } }),
      [`${SOCKET}: field not present`],
    ],
    [
      'a DNS name with everything wrong',
      dns(endpoint({ resolver_name: 'mine' })),
      [
        `${SOCKET}.address: must not be empty`,
        `${SOCKET}.resolver_name: must be empty`,
        `${SOCKET}.port_value: field not present`,
      ],
    ],
    [
      'a DNS port that is none',
      dns(endpoint({ address: 'x', port_value: 65_536 })),
      [`${SOCKET}.port_value: must not exceed 65535, but is 65536`],
    ],
    ['no aggregate config', aggregate(undefined), ['cluster_type.typed_config: field not present']],
    [
      'a cluster type it does not know',
      aggregate(any('google.protobuf.Struct', { value: {} })),
      [`cluster_type.typed_config: must be ${AGGREGATE}, not google.protobuf.Struct`],
    ],
    [
      'an aggregate of nothing',
      aggregate(any(AGGREGATE)),
      ['cluster_type.typed_config.clusters: must not be empty'],
    ],
  ])('is refused with %s', (_case, json, expected) => {
    expect(reject(json)).toEqual(expected);
  });
});

describe('lb_policy', () => {
  const jsonOf = (extra: Json) => parseEds(extra).lbConfig;
  const policy = (json: unknown) => ({ policyName: 'json', json: [json] });
  const inEachLocality = (child: unknown) =>
    policy({ xds_wrr_locality_experimental: { childPolicy: [child] } });

  it.each<[Json, object]>([
    [{ lb_policy: 'ROUND_ROBIN' }, inEachLocality({ round_robin: {} })],
    [{ lb_policy: 'ROUND_ROBIN', round_robin_lb_config: {} }, inEachLocality({ round_robin: {} })],
    [
      { lb_policy: 'LEAST_REQUEST' },
      inEachLocality({ least_request_experimental: { choiceCount: 2 } }),
    ],
    [
      { lb_policy: 'LEAST_REQUEST', least_request_lb_config: { choice_count: 7 } },
      inEachLocality({ least_request_experimental: { choiceCount: 7 } }),
    ],
    [
      { lb_policy: 'RING_HASH' },
      policy({ ring_hash_experimental: { minRingSize: 1024, maxRingSize: 8_388_608 } }),
    ],
    [
      {
        lb_policy: 'RING_HASH',
        ring_hash_lb_config: { minimum_ring_size: 1, maximum_ring_size: 8_388_608 },
      },
      policy({ ring_hash_experimental: { minRingSize: 1, maxRingSize: 8_388_608 } }),
    ],
    [
      // Settings of another policy do not count.
      { lb_policy: 'RING_HASH', least_request_lb_config: { choice_count: 0 } },
      policy({ ring_hash_experimental: { minRingSize: 1024, maxRingSize: 8_388_608 } }),
    ],
  ])('%j', (extra, expected) => {
    expect(jsonOf(extra)).toEqual(expected);
  });

  it.each<[Json, readonly string[]]>([
    [
      { lb_policy: 'MAGLEV' },
      [
        'lb_policy: must be ROUND_ROBIN, LEAST_REQUEST or RING_HASH, not MAGLEV, which GRPC_XDS_NODE_ENVOY_FEATURES=true enables',
      ],
    ],
    [{ lb_policy: 99 }, ['lb_policy: must be ROUND_ROBIN, LEAST_REQUEST or RING_HASH, not 99']],
    [
      { lb_policy: 'LEAST_REQUEST', least_request_lb_config: { choice_count: 1 } },
      ['least_request_lb_config.choice_count: must be at least 2, not 1'],
    ],
    [
      {
        lb_policy: 'RING_HASH',
        ring_hash_lb_config: { minimum_ring_size: 2000, maximum_ring_size: 1000 },
      },
      [
        'ring_hash_lb_config.minimum_ring_size: must not exceed maximum_ring_size, which is 1000, but is 2000',
      ],
    ],
    [
      { lb_policy: 'RING_HASH', ring_hash_lb_config: { maximum_ring_size: 1000 } },
      [
        'ring_hash_lb_config.minimum_ring_size: must not exceed maximum_ring_size, which is 1000, but is 1024',
      ],
    ],
    [
      {
        lb_policy: 'RING_HASH',
        ring_hash_lb_config: {
          minimum_ring_size: 0,
          maximum_ring_size: '18446744073709551615',
          hash_function: 'MURMUR_HASH_2',
        },
      },
      [
        'ring_hash_lb_config.minimum_ring_size: must be from 1 to 8388608, not 0',
        'ring_hash_lb_config.maximum_ring_size: must be from 1 to 8388608, not 18446744073709551615',
        'ring_hash_lb_config.hash_function: must be XX_HASH, not MURMUR_HASH_2',
      ],
    ],
  ])('%j is refused', (extra, expected) => {
    expect(rejectEds(extra)).toEqual(expected);
  });

  it('is refused where the registry refuses it', () => {
    const lbConfigs = new LbPolicyRegistry({ policies: [] });
    const type = createClusterResourceType({ ...extensions, lbConfigs });
    expect(violationsOf(type, edsClusterJson('c'))).toEqual([
      'lb_policy: names no supported load-balancing policy, only xds_wrr_locality_experimental',
    ]);
  });
});

describe('load_balancing_policy', () => {
  const policies = (...configs: readonly (Json | undefined)[]): Json => ({
    load_balancing_policy: {
      policies: configs.map((typed_config) => ({
        typed_extension_config: { name: 'x', typed_config },
      })),
    },
  });
  const ROUND_ROBIN = 'envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin';
  const PICK_FIRST = 'envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst';
  const WRR_LOCALITY = 'envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality';
  const AT = 'load_balancing_policy.policies';

  it('replaces lb_policy, and its first supported entry wins', () => {
    const extra = policies(any(WRR_LOCALITY), any(ROUND_ROBIN), any(PICK_FIRST));
    expect(parseEds({ ...extra, lb_policy: 'MAGLEV' }).lbConfig).toEqual({
      policyName: 'proto',
      proto: { typeUrl: `${TYPE}/${ROUND_ROBIN}`, value: new Uint8Array(0) },
      depth: 0,
    });
  });

  it.each<[string, Json, readonly string[]]>([
    ['is empty', { load_balancing_policy: {} }, [`${AT}: names no load-balancing policy`]],
    [
      'has nothing it knows',
      policies(any(WRR_LOCALITY), any(WRR_LOCALITY)),
      [`${AT}: names no supported load-balancing policy, only ${WRR_LOCALITY}, ${WRR_LOCALITY}`],
    ],
    [
      'has an entry without config',
      policies(any(WRR_LOCALITY), undefined, any(ROUND_ROBIN)),
      [`${AT}[1].typed_extension_config.typed_config: field not present`],
    ],
    [
      'has an entry without anything',
      { load_balancing_policy: { policies: [{}] } },
      [`${AT}[0].typed_extension_config.typed_config: field not present`],
    ],
    [
      'has an invalid entry, even before a valid one',
      policies(any(PICK_FIRST, { shuffle_address_list: true }), any(ROUND_ROBIN)),
      [`${AT}[0].typed_extension_config.typed_config: not to the taste of the policy`],
    ],
  ])('is refused if it %s', (_case, extra, expected) => {
    expect(rejectEds(extra)).toEqual(expected);
  });

  it('goes through the registry of policies', () => {
    const lbConfigs = new LbPolicyRegistry({
      policies: [roundRobinPolicy, wrrLocalityPolicy],
    });
    const type = createClusterResourceType({ ...extensions, lbConfigs });
    const nested = (child: Json): Json =>
      policies(any(WRR_LOCALITY, { endpoint_picking_policy: child }));
    const valid = nested(
      policies(any(PICK_FIRST), any(ROUND_ROBIN))['load_balancing_policy'] as Json,
    );
    expect(valueOf(type, edsClusterJson('c', valid)).lbConfig).toMatchObject({
      policyName: 'xds_wrr_locality_experimental',
      childPolicy: { policyName: 'round_robin' },
    });
    expect(violationsOf(type, edsClusterJson('c', nested({})))).toEqual([
      `${AT}[0].typed_extension_config.typed_config.endpoint_picking_policy.policies: names no load-balancing policy`,
    ]);
  });
});

describe('outlier detection', () => {
  const detection = (outlier_detection: Json) => parseEds({ outlier_detection }).outlierDetection;

  it('is on for the success rate by default', () => {
    expect(detection({})).toEqual({
      intervalMs: 10_000,
      baseEjectionTimeMs: 30_000,
      maxEjectionTimeMs: 300_000,
      maxEjectionPercent: 10,
      successRate: {
        stdevFactor: 1900,
        enforcementPercentage: 100,
        minimumHosts: 5,
        requestVolume: 100,
      },
      failurePercentage: undefined,
    });
  });

  it('takes over every setting', () => {
    expect(
      detection({
        interval: '1s',
        base_ejection_time: '2.5s',
        max_ejection_time: '3s',
        max_ejection_percent: 0,
        enforcing_success_rate: 1,
        success_rate_minimum_hosts: 2,
        success_rate_request_volume: 3,
        success_rate_stdev_factor: 4,
        failure_percentage_threshold: 100,
        enforcing_failure_percentage: 6,
        failure_percentage_minimum_hosts: 7,
        failure_percentage_request_volume: 8,
      }),
    ).toEqual({
      intervalMs: 1000,
      baseEjectionTimeMs: 2500,
      maxEjectionTimeMs: 3000,
      maxEjectionPercent: 0,
      successRate: {
        stdevFactor: 4,
        enforcementPercentage: 1,
        minimumHosts: 2,
        requestVolume: 3,
      },
      failurePercentage: {
        threshold: 100,
        enforcementPercentage: 6,
        minimumHosts: 7,
        requestVolume: 8,
      },
    });
  });

  it('has defaults for failures once they count', () => {
    expect(
      detection({ enforcing_success_rate: 0, enforcing_failure_percentage: 50 }),
    ).toMatchObject({
      successRate: undefined,
      failurePercentage: {
        threshold: 85,
        enforcementPercentage: 50,
        minimumHosts: 5,
        requestVolume: 50,
      },
    });
  });

  it('ejects for at least the base time', () => {
    expect(detection({ base_ejection_time: '400s' })?.maxEjectionTimeMs).toBe(400_000);
    expect(detection({ base_ejection_time: '400s', max_ejection_time: '1s' })).toMatchObject({
      baseEjectionTimeMs: 400_000,
      maxEjectionTimeMs: 1000,
    });
  });

  it('is refused with everything that is wrong with it', () => {
    const outlier_detection = {
      interval: '-1s',
      base_ejection_time: '-0.5s',
      max_ejection_time: '-2s',
      max_ejection_percent: 101,
      enforcing_success_rate: 102,
      failure_percentage_threshold: 103,
      enforcing_failure_percentage: 104,
    };
    expect(new Set(rejectEds({ outlier_detection }))).toEqual(
      new Set([
        'outlier_detection.interval.seconds: must be from 0 to 315576000000, not -1',
        'outlier_detection.base_ejection_time.nanos: must be from 0 to 999999999, not -500000000',
        'outlier_detection.max_ejection_time.seconds: must be from 0 to 315576000000, not -2',
        'outlier_detection.max_ejection_percent: must not exceed 100, but is 101',
        'outlier_detection.enforcing_success_rate: must not exceed 100, but is 102',
        'outlier_detection.failure_percentage_threshold: must not exceed 100, but is 103',
        'outlier_detection.enforcing_failure_percentage: must not exceed 100, but is 104',
      ]),
    );
  });

  it('is checked where it does not count, too', () => {
    const outlier_detection = {
      enforcing_failure_percentage: 0,
      failure_percentage_threshold: 200,
    };
    expect(rejectEds({ outlier_detection })).toEqual([
      'outlier_detection.failure_percentage_threshold: must not exceed 100, but is 200',
    ]);
  });
});

describe('what else a cluster says', () => {
  it.each<[string, Json, readonly string[]]>([
    ['load reports to elsewhere', { lrs_server: { ads: {} } }, ['lrs_server: must be self']],
    ['load reports to nowhere', { lrs_server: {} }, ['lrs_server: must be self']],
    [
      'transport sockets by metadata',
      { transport_socket_matches: [{ name: 'x' }] },
      ['transport_socket_matches: unsupported: use transport_socket'],
    ],
    [
      'a transport socket without config',
      { transport_socket: { name: 'envoy.transport_sockets.tls' } },
      ['transport_socket.typed_config: field not present'],
    ],
    [
      'a transport socket it does not know',
      {
        transport_socket: {
          name: 'envoy.transport_sockets.tls',
          typed_config: any('google.protobuf.Struct', { value: {} }),
        },
      },
      [
        'transport_socket.typed_config: must be envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, not google.protobuf.Struct',
      ],
    ],
    [
      'an upstream config it does not know',
      { upstream_config: { typed_config: any('google.protobuf.Struct', { value: {} }) } },
      [
        'upstream_config.typed_config: must be envoy.extensions.upstreams.http.v3.HttpProtocolOptions, not google.protobuf.Struct',
      ],
    ],
    [
      'an idle timeout before it began',
      {
        upstream_config: {
          typed_config: any('envoy.extensions.upstreams.http.v3.HttpProtocolOptions', {
            common_http_protocol_options: { idle_timeout: '-1s' },
          }),
        },
      },
      [
        'upstream_config.typed_config.common_http_protocol_options.idle_timeout.seconds: must be from 0 to 315576000000, not -1',
      ],
    ],
  ])('is refused: %s', (_case, extra, expected) => {
    expect(rejectEds(extra)).toEqual(expected);
  });

  it('is refused: a TLS context that is no message', () => {
    const bytes = Cluster.encode(
      Cluster.fromPartial({
        clusterDiscoveryType: { $case: 'type', value: 3 },
        edsClusterConfig: {
          edsConfig: { configSourceSpecifier: { $case: 'ads', value: {} } },
        },
        transportSocket: {
          name: 'envoy.transport_sockets.tls',
          configType: {
            $case: 'typedConfig',
            value: {
              typeUrl: `${TYPE}/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
              value: Uint8Array.of(0x12, 0x7f),
            },
          },
        },
      }),
    ).finish();
    expect(decodeBytes(types.cluster, bytes).result).toEqual({
      ok: false,
      error: ['transport_socket.typed_config: malformed message: premature EOF'],
    });
  });

  it('is refused all at once', () => {
    expect(
      reject({
        name: 'c',
        lb_policy: 'RANDOM',
        lrs_server: {},
        outlier_detection: { max_ejection_percent: 200 },
      }),
    ).toEqual([
      'type: must be EDS or LOGICAL_DNS, unless cluster_type makes an aggregate, but is missing',
      'lb_policy: must be ROUND_ROBIN, LEAST_REQUEST or RING_HASH, not RANDOM',
      'lrs_server: must be self',
      'outlier_detection.max_ejection_percent: must not exceed 100, but is 200',
    ]);
  });
});

describe('the cluster type', () => {
  it('reads the name, which need not come first, without decoding the rest', () => {
    const json = edsClusterJson('constructor', { transport_socket_matches: [{ name: 'wrong' }] });
    expect(types.cluster.peekName(encode(types.cluster, json))).toBe('constructor');
  });
});
