import { Locality } from '../../src/wire/generated/envoy/config/core/v3/base';
import { ClusterLoadAssignment } from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import { LocalityLbEndpoints } from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint_components';
import {
  describeSkippedEndpoints,
  noMetadata,
  type EndpointsResource,
  type XdsEndpoint,
} from '../../src/resources/endpoints/endpoints';
import { createEndpointsResourceType } from '../../src/resources/endpoints/endpoints-parser';
import { decodeWhole, type PreviousVersion } from '../../src/xds-client/resource-type';
import { endpointsJson, type Json } from '../support/xds-json';
import { decodeBytes, encode, types, valueOf, versionOf, violationsOf } from './decode-json';

/** One LbEndpoint. */
function endpoint(host: string, extra: Json = {}, port = 80): Json {
  return {
    endpoint: { address: { socket_address: { address: host, port_value: port } } },
    ...extra,
  };
}

/** One LocalityLbEndpoints. */
function locality(zone: string, lb_endpoints: readonly Json[], extra: Json = {}): Json {
  return { locality: { zone }, load_balancing_weight: 1, lb_endpoints, ...extra };
}

const assignment = (...endpoints: readonly Json[]): Json => ({ cluster_name: 'c', endpoints });
/** By value, the versions parsed so far. */
const versions = new Map<EndpointsResource, PreviousVersion<EndpointsResource>>();
const parseVersion = (json: Json, previous?: EndpointsResource) => {
  const known = previous && versions.get(previous);
  const version = versionOf(types.endpoints, json, known && { previous: known });
  versions.set(version.value, version);
  return version.value;
};
const parse = (json: Json) => parseVersion(json);
const reject = (json: Json) => violationsOf(types.endpoints, json);
const update = (previous: EndpointsResource, json: Json) => parseVersion(json, previous);
const endpointsOf = (resource: EndpointsResource): readonly XdsEndpoint[] =>
  resource.priorities.flatMap((p) => p.localities.flatMap((l) => l.endpoints));
const hostsOf = (resource: EndpointsResource) =>
  endpointsOf(resource).map(({ addresses: [first] }) => first?.host);
const parseEndpoints = (...lbEndpoints: readonly Json[]) =>
  endpointsOf(parse(assignment(locality('a', lbEndpoints))));

describe('an assignment', () => {
  it('is taken over as it is', () => {
    expect(parse(endpointsJson('c', [{ zone: 'a', ports: [80] }]))).toEqual({
      clusterName: 'c',
      priorities: [
        {
          localities: [
            {
              locality: { region: 'test', zone: 'a', subZone: '' },
              weight: 1,
              endpoints: [
                {
                  addresses: [{ host: '127.0.0.1', port: 80 }],
                  weight: 1,
                  health: 'UNKNOWN',
                  hostname: '',
                  hashKey: undefined,
                  metadata: noMetadata,
                },
              ],
              draining: 0,
            },
          ],
        },
      ],
      drops: [],
    });
  });

  it('may be empty, or hold a locality that is', () => {
    expect(parse({ cluster_name: 'c' })).toEqual({ clusterName: 'c', priorities: [], drops: [] });
    expect(parse(assignment(locality('a', [])))).toMatchObject({
      priorities: [{ localities: [{ endpoints: [] }] }],
    });
  });

  it('puts the priorities in order, whatever order they come in', () => {
    const json = assignment(
      locality('b', [endpoint('10.0.0.2')], { priority: 1 }),
      locality('c', [endpoint('10.0.0.3')], { priority: 2 }),
      locality('a', [endpoint('10.0.0.1')]),
      locality('b', [endpoint('10.0.0.4')]),
    );
    const zones = parse(json).priorities.map((p) => p.localities.map((l) => l.locality.zone));
    expect(zones).toEqual([['a', 'b'], ['b'], ['c']]);
  });

  it('leaves out localities without weight, with all that may be wrong in them', () => {
    const json = assignment(
      locality('a', [endpoint('10.0.0.1')]),
      locality('off', [endpoint('not an address')], { load_balancing_weight: 0, priority: 7 }),
      locality('unset', [{}], { load_balancing_weight: undefined, locality: undefined }),
    );
    expect(hostsOf(parse(json))).toEqual(['10.0.0.1']);
  });

  it('is accepted with a locality that has neither a name nor a weight', () => {
    expect(parse({ cluster_name: 'c', endpoints: [{}] }).priorities).toEqual([]);
  });
});

describe('an endpoint', () => {
  it('has all of its addresses, best first', () => {
    const json: Json = {
      endpoint: {
        address: { socket_address: { address: '2001:db8::1', port_value: 443 } },
        additional_addresses: [
          { address: { socket_address: { address: '10.0.0.1', port_value: 0 } } },
          { address: { socket_address: { address: 'fe80::1%eth0', port_value: 65_535 } } },
        ],
        hostname: 'backend.example.com',
      },
      load_balancing_weight: 4_294_967_295,
      health_status: 'HEALTHY',
    };
    expect(parseEndpoints(json)).toEqual([
      {
        addresses: [
          { host: '2001:db8::1', port: 443 },
          { host: '10.0.0.1', port: 0 },
          { host: 'fe80::1%eth0', port: 65_535 },
        ],
        weight: 4_294_967_295,
        health: 'HEALTHY',
        hostname: 'backend.example.com',
        hashKey: undefined,
        metadata: noMetadata,
      },
    ]);
  });

  it.each<[Json, string | undefined]>([
    [{ filter_metadata: { 'envoy.lb': { hash_key: 'k' } } }, 'k'],
    [{ filter_metadata: { 'envoy.lb': { hash_key: '' } } }, undefined],
    [{ filter_metadata: { 'envoy.lb': { hash_key: 7 } } }, undefined],
    [{ filter_metadata: { 'envoy.lb': { other: 'k' } } }, undefined],
    [{ filter_metadata: { other: { hash_key: 'k' } } }, undefined],
    [{}, undefined],
  ])('with the metadata %j has the hash key %j', (metadata, expected) => {
    expect(parseEndpoints(endpoint('10.0.0.1', { metadata }))).toMatchObject([
      { hashKey: expected },
    ]);
  });

  describe('with metadata', () => {
    const labels = { workload: 'w', numbers: [1, 'NaN', null], nested: { deep: true } };
    const audience = {
      '@type': 'type.googleapis.com/envoy.config.core.v3.Locality',
      zone: 'z',
    };
    const metadata = {
      filter_metadata: { istio: labels },
      typed_filter_metadata: { 'acme.audience': audience },
    };

    it('keeps it, as JSON and as undecoded messages', () => {
      const [parsed] = parseEndpoints(endpoint('10.0.0.1', { metadata }));
      expect(parsed?.metadata.filterMetadata).toEqual(new Map([['istio', labels]]));
      expect(parsed?.metadata.typedFilterMetadata).toEqual(
        new Map([
          [
            'acme.audience',
            {
              typeUrl: 'type.googleapis.com/envoy.config.core.v3.Locality',
              value: Uint8Array.from(Locality.encode(Locality.create({ zone: 'z' })).finish()),
            },
          ],
        ]),
      );
    });

    it.each([{}, undefined, { filter_metadata: {} }])('has the shared one for %j', (nothing) => {
      const extra = nothing === undefined ? {} : { metadata: nothing };
      expect(parseEndpoints(endpoint('10.0.0.1', extra))[0]?.metadata).toBe(noMetadata);
    });

    it('shares it with its neighbours if theirs says the same', () => {
      const other = { filter_metadata: { istio: { ...labels, workload: 'other' } } };
      const [a, b, c] = parseEndpoints(
        endpoint('10.0.0.1', { metadata }),
        endpoint('10.0.0.2', { metadata: structuredClone(metadata) }),
        endpoint('10.0.0.3', { metadata: other }),
      );
      expect(b?.metadata).toBe(a?.metadata);
      expect(c?.metadata).not.toBe(a?.metadata);
    });

    const version = (istio: Json, others = 0): Json => ({
      ...assignment(
        locality('a', [
          endpoint('10.0.0.1', { metadata: { ...metadata, filter_metadata: { istio } } }),
          // So many that are new have the assignment decoded as a whole.
          ...Array.from({ length: others }, (_, i) => endpoint(`10.0.1.${i}`)),
        ]),
      ),
    });

    it.each([0, 100])('stays the same object while that stays the same: %d new', (others) => {
      const before = parse(version({ ...labels, a: 1, b: 2 }));
      const after = update(before, version({ b: 2, a: 1, ...labels }, others));
      expect(endpointsOf(after)[0]).toBe(endpointsOf(before)[0]);
    });

    it.each([0, 100])('is another object when that changes: %d new', (others) => {
      const before = parse(version(labels));
      for (const changed of [
        { ...labels, workload: 'x' },
        { ...labels, numbers: [1, 'NaN', 0] },
        { ...labels, nested: [true] },
        { ...labels, nested: {} },
        { ...labels, more: null },
      ]) {
        const [first] = endpointsOf(update(before, version(changed, others)));
        expect(first).not.toBe(endpointsOf(before)[0]);
        expect(first?.metadata.filterMetadata.get('istio')).toEqual(changed);
      }
    });
  });

  it('is left out unless it is healthy or might be, with all that may be wrong with it', () => {
    const states = ['UNKNOWN', 'HEALTHY', 'UNHEALTHY', 'DRAINING', 'TIMEOUT', 'DEGRADED', 99];
    const lbEndpoints = states.map((health_status, i) =>
      i < 2
        ? endpoint(`10.0.0.${i}`, { health_status })
        : { health_status, load_balancing_weight: 0 },
    );
    expect(parseEndpoints(...lbEndpoints).map(({ health }) => health)).toEqual([
      'UNKNOWN',
      'HEALTHY',
    ]);
  });

  it('is kept while it drains, for policies that know what that means', () => {
    const type = createEndpointsResourceType({ keepDraining: true });
    const lbEndpoints = ['HEALTHY', 'DRAINING', 'UNHEALTHY'].map((health_status, i) =>
      endpoint(`10.0.0.${i}`, { health_status }),
    );
    expect(
      endpointsOf(valueOf(type, assignment(locality('a', lbEndpoints)))).map(
        ({ health }) => health,
      ),
    ).toEqual(['HEALTHY', 'DRAINING']);
  });
});

describe('addresses of a kind that this client cannot use', () => {
  const pipe: Json = { pipe: { path: '/run/backend.sock' } };
  const internal: Json = { envoy_internal_address: { server_listener_name: 'l' } };
  const at = (address: Json, ...others: readonly Json[]): Json => ({
    endpoint: { address, additional_addresses: others.map((other) => ({ address: other })) },
  });
  const tcp = (host: string): Json => ({ socket_address: { address: host, port_value: 80 } });
  const described = (resource: EndpointsResource) => types.endpoints.describeSkipped(resource);

  it.each([
    ['a unix socket', pipe],
    ['an internal listener', internal],
  ])('skips an endpoint at %s and keeps the others', (_kind, address) => {
    const lbEndpoints = [at(address), endpoint('10.0.0.1'), at(address)];
    const resource = parse(assignment(locality('a', lbEndpoints)));
    expect(hostsOf(resource)).toEqual(['10.0.0.1']);
    expect(described(resource)).toBe(
      '2 endpoints have an address of a kind that this client cannot use (unix socket or internal listener), skipped',
    );
  });

  it('keeps the other addresses of an endpoint, in their order', () => {
    const lbEndpoints = [
      at(pipe, tcp('10.0.0.1'), internal, tcp('10.0.0.2')),
      at(tcp('::1'), pipe),
    ];
    const resource = parse(assignment(locality('a', lbEndpoints)));
    expect(endpointsOf(resource).map(({ addresses }) => addresses.map(({ host }) => host))).toEqual(
      [['10.0.0.1', '10.0.0.2'], ['::1']],
    );
    expect(resource.unusableEndpoints).toBe(2);
  });

  it('leaves a locality with no other address in place, without endpoints', () => {
    const resource = parse(
      assignment(locality('a', [at(pipe)]), locality('b', [], { priority: 1 })),
    );
    expect(resource.priorities.map(({ localities }) => localities.length)).toEqual([1, 1]);
    expect(described(resource)).toMatch(/^1 endpoint has an address of a kind/);
  });

  it('describes localities with endpoints and without a weight, in whichever way they are decoded', () => {
    const weightless = (zone: string, endpoints: readonly Json[]) =>
      locality(zone, endpoints, { load_balancing_weight: undefined });
    const a = locality('a', [endpoint('10.0.0.1')]);
    const first = parse(assignment(a, weightless('b', [endpoint('10.0.0.2')])));
    const one = '1 locality has no load_balancing_weight, so its endpoints are not used: set it';
    expect(described(first)).toBe(one);
    expect(update(first, assignment(a, weightless('b', [endpoint('10.0.0.2')])))).toBe(first);
    const both = assignment(
      weightless('a', [endpoint('10.0.0.1')]),
      weightless('b', [endpoint('10.0.0.2')]),
    );
    expect(described(update(first, both))).toMatch(/^2 localities have no load_balancing_weight/);
    expect(described(update(first, assignment(a)))).toBeUndefined();
    // Without endpoints, or off on purpose, there is nothing to say.
    const off = locality('b', [endpoint('10.0.0.2')], { load_balancing_weight: 0 });
    expect(described(parse(assignment(a, weightless('c', []), off)))).toBeUndefined();
    const more = locality('a', [endpoint('10.0.0.1'), endpoint('10.0.0.3')]);
    const changed = update(first, assignment(more, weightless('b', [endpoint('10.0.0.2')])));
    expect(described(changed)).toBe(one);
  });

  it('does not count endpoints that get no calls anyway, nor their weight', () => {
    const lbEndpoints = [
      at(pipe),
      { ...at(pipe), load_balancing_weight: 4_294_967_295 },
      { ...at(pipe), health_status: 'UNHEALTHY' },
      endpoint('10.0.0.1', { load_balancing_weight: 4_294_967_295 }),
    ];
    const resource = parse(
      assignment(
        locality('a', lbEndpoints),
        locality('off', [at(pipe)], { load_balancing_weight: 0 }),
      ),
    );
    expect(resource.unusableEndpoints).toBe(2);
    expect(hostsOf(resource)).toEqual(['10.0.0.1']);
  });

  it('counts all endpoints by health where none can be used, in each update', () => {
    const states = (...all: readonly string[]) =>
      assignment(
        locality(
          'a',
          all.map((health_status, i) => endpoint(`10.0.0.${i}`, { health_status })),
        ),
      );
    const first = parse(states('UNHEALTHY', 'TIMEOUT', 'UNHEALTHY'));
    const text =
      'ClusterLoadAssignment "c": none of its 3 endpoints can be used because of its health_status';
    expect(describeSkippedEndpoints(first)).toBe(`${text} (2 UNHEALTHY, 1 TIMEOUT)`);
    expect(update(first, states('UNHEALTHY', 'TIMEOUT', 'UNHEALTHY'))).toBe(first);
    const second = update(first, states('UNHEALTHY', 'DRAINING', 'UNHEALTHY'));
    expect(describeSkippedEndpoints(second)).toBe(`${text} (2 UNHEALTHY, 1 DRAINING)`);
    const third = update(second, states('UNHEALTHY', 'HEALTHY', 'UNHEALTHY'));
    expect(describeSkippedEndpoints(third)).toBeUndefined();
    expect(describeSkippedEndpoints(update(third, states('DRAINING')))).toBe(
      'ClusterLoadAssignment "c": its only endpoint cannot be used because of its health_status (1 DRAINING)',
    );
    const many = (health_status: string) => states(...Array<string>(100).fill(health_status));
    const large = update(third, many('HEALTHY'));
    expect(describeSkippedEndpoints(update(large, many('UNHEALTHY')))).toMatch(
      /\(100 UNHEALTHY\)$/,
    );
  });

  it('counts anew in each update, and keeps the identity of what did not change', () => {
    const usable = [endpoint('10.0.0.1'), endpoint('10.0.0.2')];
    const first = parse(assignment(locality('a', usable)));
    expect(described(first)).toBeUndefined();
    const second = update(first, assignment(locality('a', [...usable, at(pipe)])));
    expect(second.unusableEndpoints).toBe(1);
    expect(second.priorities).toBe(first.priorities);
    const third = update(second, assignment(locality('a', [...usable, at(pipe), at(internal)])));
    expect(third.unusableEndpoints).toBe(2);
    expect(update(third, assignment(locality('a', [...usable, at(pipe), at(internal)])))).toBe(
      third,
    );
    const last = update(third, assignment(locality('a', usable)));
    expect(last).toEqual(first);
    expect(last.priorities).toBe(first.priorities);
  });
});

describe('an assignment is refused', () => {
  const AT = 'endpoints[0].lb_endpoints[0]';
  const socket = (socket_address: Json): Json => ({ endpoint: { address: { socket_address } } });

  it.each<[string, Json, readonly string[]]>([
    ['an endpoint that is none', {}, [`${AT}.endpoint: field not present`]],
    ['a named endpoint', { endpoint_name: 'e' }, [`${AT}.endpoint: field not present`]],
    ['no address', { endpoint: {} }, [`${AT}.endpoint.address: field not present`]],
    [
      'an address of no kind',
      { endpoint: { address: {} } },
      [`${AT}.endpoint.address.socket_address: field not present`],
    ],
    [
      'a bad additional address beside a unix socket',
      {
        endpoint: {
          address: { pipe: { path: '/tmp/x' } },
          additional_addresses: [{}],
        },
      },
      [`${AT}.endpoint.additional_addresses[0].address: field not present`],
    ],
    [
      'a name and no port',
      socket({ address: 'backend.example.com' }),
      [
        `${AT}.endpoint.address.socket_address.address: must be a literal IP address, not "backend.example.com": a cluster of type LOGICAL_DNS may have a host name`,
        `${AT}.endpoint.address.socket_address.port_value: field not present`,
      ],
    ],
    [
      'nothing and a named port',
      socket({ named_port: 'http' }),
      [
        `${AT}.endpoint.address.socket_address.address: must be a literal IP address, not "": a cluster of type LOGICAL_DNS may have a host name`,
        `${AT}.endpoint.address.socket_address.port_value: field not present`,
      ],
    ],
    [
      'a port that is none',
      socket({ address: '10.0.0.1', port_value: 65_536 }),
      [`${AT}.endpoint.address.socket_address.port_value: must not exceed 65535, but is 65536`],
    ],
    [
      'bad additional addresses beside a bad one',
      {
        endpoint: {
          address: { socket_address: { address: '10.0.0', port_value: 1 } },
          additional_addresses: [
            {},
            { address: { socket_address: { address: '10.0.0.2', port_value: 1 } } },
            { address: { socket_address: { address: '[::1]', port_value: 1 } } },
          ],
        },
      },
      [
        `${AT}.endpoint.address.socket_address.address: must be a literal IP address, not "10.0.0": a cluster of type LOGICAL_DNS may have a host name`,
        `${AT}.endpoint.additional_addresses[0].address: field not present`,
        `${AT}.endpoint.additional_addresses[2].address.socket_address.address: must be a literal IP address, not "[::1]": a cluster of type LOGICAL_DNS may have a host name`,
      ],
    ],
    [
      'a weight of nothing',
      endpoint('10.0.0.1', { load_balancing_weight: 0 }),
      [`${AT}.load_balancing_weight: must be at least 1, not 0`],
    ],
    [
      'the same address twice in one endpoint',
      {
        endpoint: {
          address: { socket_address: { address: '10.0.0.1', port_value: 1 } },
          additional_addresses: [
            { address: { socket_address: { address: '10.0.0.1', port_value: 2 } } },
            { address: { socket_address: { address: '10.0.0.1', port_value: 3 } } },
            { address: { socket_address: { address: '10.0.0.1', port_value: 1 } } },
            { address: { socket_address: { address: '10.0.0.1', port_value: 3 } } },
          ],
        },
      },
      [
        `${AT}: duplicate address 10.0.0.1 with port 1`,
        `${AT}: duplicate address 10.0.0.1 with port 3`,
      ],
    ],
  ])('for %s', (_case, lbEndpoint, expected) => {
    expect(reject(assignment(locality('a', [lbEndpoint, endpoint('10.9.9.9')])))).toEqual(expected);
  });

  it.each<[string, readonly Json[], readonly string[]]>([
    [
      'a locality that says not where it is',
      [locality('a', [], { locality: undefined })],
      ['endpoints[0].locality: field not present'],
    ],
    [
      'a locality twice in a priority',
      [locality('a', []), locality('a', [], { priority: 1 }), locality('a', [])],
      ['endpoints[2]: duplicate locality {region="", zone="a", sub_zone=""} in priority 0'],
    ],
    [
      'priorities that are missing',
      [
        locality('a', [], { priority: 1 }),
        locality('a', [], { priority: 2 }),
        locality('a', [], { priority: 4_294_967_295 }),
      ],
      [
        'endpoints[2].priority: 4294967295 is not below the limit of 1000',
        'endpoints: priority 1 is used, but priority 0 is not',
      ],
    ],
    [
      'a priority whose localities are too heavy',
      [
        locality('a', [], { load_balancing_weight: 4_294_967_295 }),
        locality('a', [], { load_balancing_weight: 1, priority: 1 }),
        locality('b', [], { load_balancing_weight: 1 }),
      ],
      [
        'endpoints: the sum of the locality weights of priority 0 must not exceed 4294967295, but is 4294967296',
      ],
    ],
    [
      'a locality whose endpoints are too heavy',
      [
        locality('a', [
          endpoint('10.0.0.1', { load_balancing_weight: 4_294_967_295 }),
          endpoint('10.0.0.2'),
        ]),
      ],
      [
        'endpoints[0].lb_endpoints: the sum of the endpoint weights must not exceed 4294967295, but is 4294967296',
      ],
    ],
    [
      'an address in two localities',
      [
        locality('a', [endpoint('10.0.0.1')]),
        locality('b', [endpoint('10.0.0.1', {}, 81), endpoint('10.0.0.1')], { priority: 1 }),
      ],
      ['endpoints[1].lb_endpoints[1]: duplicate address 10.0.0.1 with port 80'],
    ],
    [
      'everything at once',
      [
        locality('a', [{}, endpoint('10.0.0.1'), endpoint('x')]),
        locality('b', [endpoint('10.0.0.1')], { priority: 2 }),
      ],
      [
        'endpoints[0].lb_endpoints[0].endpoint: field not present',
        'endpoints[0].lb_endpoints[2].endpoint.address.socket_address.address: must be a literal IP address, not "x": a cluster of type LOGICAL_DNS may have a host name',
        'endpoints[1].lb_endpoints[0]: duplicate address 10.0.0.1 with port 80',
        'endpoints: priority 2 is used, but priority 1 is not',
      ],
    ],
  ])('for %s', (_case, localities, expected) => {
    expect(reject(assignment(...localities))).toEqual(expected);
  });

  it('but not for weights that just fit, nor for addresses that only look alike', () => {
    const json = assignment(
      locality(
        'a',
        [endpoint('10.0.0.1', { load_balancing_weight: 4_294_967_294 }), endpoint('10.0.0.11')],
        {
          load_balancing_weight: 4_294_967_294,
        },
      ),
      locality('b', [endpoint('10.0.0.1', {}, 8)]),
      locality('a', [endpoint('10.0.0.1', {}, 18)], {
        priority: 1,
        load_balancing_weight: 4_294_967_295,
      }),
    );
    expect(hostsOf(parse(json))).toEqual(['10.0.0.1', '10.0.0.11', '10.0.0.1', '10.0.0.1']);
  });

  it('but not for an address that only an endpoint without calls has, too', () => {
    const json = assignment(
      locality('a', [endpoint('10.0.0.1', { health_status: 'UNHEALTHY' }), endpoint('10.0.0.1')]),
    );
    expect(hostsOf(parse(json))).toEqual(['10.0.0.1']);
  });
});

describe('drops', () => {
  const drop = (...drop_overloads: readonly Json[]): Json => ({
    cluster_name: 'c',
    policy: { drop_overloads },
  });

  it('are parts per million, in order', () => {
    expect(
      parse(
        drop(
          { category: 'lb', drop_percentage: { numerator: 5 } },
          { category: '__proto__', drop_percentage: { numerator: 5, denominator: 'TEN_THOUSAND' } },
          { category: 'lb', drop_percentage: { numerator: 5, denominator: 'MILLION' } },
          { category: 'all', drop_percentage: { numerator: 4_294_967_295 } },
          { category: 'none', drop_percentage: {} },
        ),
      ).drops,
    ).toEqual([
      { category: 'lb', perMillion: 50_000 },
      { category: '__proto__', perMillion: 500 },
      { category: 'lb', perMillion: 5 },
      { category: 'all', perMillion: 1_000_000 },
      { category: 'none', perMillion: 0 },
    ]);
  });

  it('are refused with everything that is wrong with them', () => {
    expect(
      reject(drop({}, { category: 'x', drop_percentage: { numerator: 1, denominator: 9 } })),
    ).toEqual([
      'policy.drop_overloads[0].category: must not be empty',
      'policy.drop_overloads[0].drop_percentage: field not present',
      'policy.drop_overloads[1].drop_percentage.denominator: must be HUNDRED, TEN_THOUSAND or MILLION, not 9',
    ]);
  });
});

describe('an update', () => {
  const zoneA = locality('a', [endpoint('10.0.0.1'), endpoint('10.0.0.2'), endpoint('10.0.0.3')]);
  const zoneB = locality('b', [endpoint('10.0.1.1'), endpoint('10.0.1.2')]);
  const lower = locality('a', [endpoint('10.0.2.1')], { priority: 1 });
  const drops = {
    policy: {
      drop_overloads: [
        { category: 'x', drop_percentage: { numerator: 1 } },
        { category: 'y', drop_percentage: { numerator: 2 } },
      ],
    },
  };
  const json = { ...assignment(zoneA, zoneB, lower), ...drops };
  const before = parse(json);

  it('that changes nothing is the same object', () => {
    expect(update(before, json)).toBe(before);
    // Not a word of this reaches a client.
    const extra = { policy: { ...drops.policy, overprovisioning_factor: 200 } };
    expect(update(before, { ...json, ...extra })).toBe(before);
  });

  it('of one endpoint keeps all the others, and the other localities and priorities', () => {
    const changed = locality('a', [
      endpoint('10.0.0.1'),
      endpoint('10.0.0.2', { load_balancing_weight: 7 }),
      endpoint('10.0.0.3'),
    ]);
    const after = update(before, { ...assignment(changed, zoneB, lower), ...drops });
    expect(after).not.toBe(before);
    expect(after.drops).toBe(before.drops);
    expect(after.priorities[1]).toBe(before.priorities[1]);
    expect(after.priorities[0]?.localities[1]).toBe(before.priorities[0]?.localities[1]);
    expect(after.priorities[0]?.localities[0]?.locality).toBe(
      before.priorities[0]?.localities[0]?.locality,
    );
    const same = endpointsOf(after).map((entry, i) => entry === endpointsOf(before)[i]);
    expect(same).toEqual([true, false, true, true, true, true]);
    expect(endpointsOf(after)[1]).toMatchObject({ weight: 7 });
  });

  it.each<[string, readonly string[]]>([
    ['taken away', ['10.0.0.1', '10.0.0.3']],
    ['put first', ['10.9.9.9', '10.0.0.1', '10.0.0.2', '10.0.0.3']],
    ['put between', ['10.0.0.1', '10.9.9.9', '10.0.0.2', '10.0.0.3']],
    ['put last', ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.9.9.9']],
    ['replaced', ['10.0.0.1', '10.9.9.9', '10.0.0.3']],
  ])('with an endpoint %s keeps the others', (_case, hosts) => {
    const after = update(
      before,
      assignment(
        locality(
          'a',
          hosts.map((host) => endpoint(host)),
        ),
      ),
    );
    const old = new Set(endpointsOf(before));
    const kept = endpointsOf(after).filter((entry) => old.has(entry));
    expect(kept.map(({ addresses: [first] }) => first?.host)).toEqual(
      hosts.filter((host) => host !== '10.9.9.9'),
    );
    expect(hostsOf(after)).toEqual(hosts);
  });

  it('that changes the order keeps the endpoints, in the new order', () => {
    const hosts = ['10.0.0.3', '10.0.0.1', '10.0.0.2'];
    const after = update(
      before,
      assignment(
        locality(
          'a',
          hosts.map((host) => endpoint(host)),
        ),
      ),
    );
    const [one, two, three] = endpointsOf(before);
    const shared = endpointsOf(after);
    expect([shared[0] === three, shared[1] === one, shared[2] === two]).toEqual([true, true, true]);
  });

  it.each<[string, Json]>([
    ['weight', { load_balancing_weight: 2 }],
    ['health', { health_status: 'HEALTHY' }],
    ['hash key', { metadata: { filter_metadata: { 'envoy.lb': { hash_key: 'k' } } } }],
    [
      'host name',
      {
        endpoint: {
          address: { socket_address: { address: '10.0.0.1', port_value: 80 } },
          hostname: 'h',
        },
      },
    ],
    [
      'port',
      { endpoint: { address: { socket_address: { address: '10.0.0.1', port_value: 81 } } } },
    ],
    [
      'number of addresses',
      {
        endpoint: {
          address: { socket_address: { address: '10.0.0.1', port_value: 80 } },
          additional_addresses: [
            { address: { socket_address: { address: '::1', port_value: 80 } } },
          ],
        },
      },
    ],
  ])('of the %s of an endpoint makes it another one', (_case, extra) => {
    const changed = locality('a', [
      endpoint('10.0.0.1', extra),
      endpoint('10.0.0.2'),
      endpoint('10.0.0.3'),
    ]);
    const after = update(before, { ...assignment(changed, zoneB, lower), ...drops });
    const same = endpointsOf(after).map((entry, i) => entry === endpointsOf(before)[i]);
    expect(same).toEqual([false, true, true, true, true, true]);
  });

  it('of a locality weight keeps the endpoints', () => {
    const after = update(before, assignment({ ...zoneA, load_balancing_weight: 5 }, zoneB, lower));
    const [changed, same] = after.priorities[0]?.localities ?? [];
    expect(changed?.weight).toBe(5);
    expect(changed?.endpoints).toBe(before.priorities[0]?.localities[0]?.endpoints);
    expect(same).toBe(before.priorities[0]?.localities[1]);
  });

  it('that moves a locality to another priority keeps what is in it', () => {
    const moved = { ...zoneB, priority: 1 };
    const after = update(before, assignment(zoneA, moved));
    expect(after.priorities[1]?.localities[0]).toBe(before.priorities[0]?.localities[1]);
  });

  it('prefers what was in the same priority', () => {
    const after = update(before, assignment(zoneA, lower, zoneB));
    expect(after.priorities[1]).toBe(before.priorities[1]);
    expect(after.priorities[0]).toBe(before.priorities[0]);
  });

  it('of one drop keeps the other', () => {
    const policy = {
      drop_overloads: [
        drops.policy.drop_overloads[0],
        { category: 'y', drop_percentage: { numerator: 3 } },
      ],
    };
    const after = update(before, { ...json, policy });
    expect(after.drops[0]).toBe(before.drops[0]);
    expect(after.drops[1]).toEqual({ category: 'y', perMillion: 30_000 });
    expect(after.priorities).toBe(before.priorities);
  });
});

describe('the endpoints type', () => {
  it('reads the name without decoding the rest', () => {
    const bytes = encode(types.endpoints, endpointsJson('c', [{ zone: 'a', ports: [1, 2] }]));
    expect(types.endpoints.peekName(bytes)).toBe('c');
  });

  it('asks for the last value under the name in the bytes', () => {
    const names: string[] = [];
    decodeWhole(types.endpoints, encode(types.endpoints, { cluster_name: '__proto__' }), {
      server: {
        serverUri: '',
        channelCreds: { type: '', config: {} },
        callCreds: [],
        features: new Set(),
        key: '',
      },
      previous(name) {
        names.push(name);
        return undefined;
      },
    });
    expect([...new Set(names)]).toEqual(['__proto__']);
  });

  it('reads a name that comes last, and more than once, as decoding would', () => {
    const bytes = Buffer.concat([
      ClusterLoadAssignment.encode(
        ClusterLoadAssignment.create({
          clusterName: 'first',
          endpoints: [LocalityLbEndpoints.create({ locality: Locality.create() })],
        }),
      ).finish(),
      ClusterLoadAssignment.encode(ClusterLoadAssignment.create({ clusterName: 'last' })).finish(),
    ]);
    expect(types.endpoints.peekName(bytes)).toBe('last');
    expect(decodeBytes(types.endpoints, bytes)).toMatchObject({
      name: 'last',
      result: { ok: true, value: { clusterName: 'last' } },
    });
  });
});
