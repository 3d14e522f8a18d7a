import { isDeepStrictEqual } from 'node:util';
import { createEndpointsResourceType } from '../../src/resources/endpoints/endpoints-parser';
import { localityName, type EndpointsResource } from '../../src/resources/endpoints/endpoints';
import {
  decodeWhole,
  type DecodeResult,
  type PreviousVersion,
} from '../../src/xds-client/resource-type';
import { ClusterLoadAssignment } from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import { seededRandom } from '../support/seeded-random';
import { serverWith } from './decode-json';
import type { HealthStatus } from '../../src/wire/generated/envoy/config/core/v3/health_check';

const type = createEndpointsResourceType({});

type Previous = PreviousVersion<EndpointsResource> | undefined;

function decode(bytes: Uint8Array, previous: Previous) {
  return decodeWhole(type, bytes, { server: serverWith(), previous: () => previous }).result;
}

/** The value, or everything that is wrong. */
function outcomeOf(result: DecodeResult<EndpointsResource>) {
  return result.ok ? result.value : result.error;
}

/** Every endpoint, by locality and address. */
function byPlace(version: EndpointsResource) {
  const localities = version.priorities.flatMap(({ localities }) => localities);
  return new Map(
    localities.flatMap(({ locality, endpoints }) =>
      endpoints.map((endpoint) => {
        const place = `${localityName(locality)} ${endpoint.addresses[0]?.host ?? ''}`;
        return [place, endpoint] as const;
      }),
    ),
  );
}

/** Compares two versions endpoint by endpoint; places in order. */
function plainDiff(before: EndpointsResource, after: EndpointsResource) {
  const [was, is] = [byPlace(before), byPlace(after)];
  const inBoth = [...is].flatMap(([place, endpoint]) => {
    const known = was.get(place);
    return known === undefined ? [] : [{ place, endpoint, known }];
  });
  return {
    added: [...is.keys()].filter((place) => !was.has(place)).sort(),
    removed: [...was.keys()].filter((place) => !is.has(place)).sort(),
    updated: inBoth
      .filter(({ endpoint, known }) => !isDeepStrictEqual(endpoint, known))
      .map(({ place }) => place)
      .sort(),
  };
}

interface Host {
  readonly address: string;
  readonly weight: number;
  readonly healthStatus: HealthStatus;
}

interface Zone {
  readonly priority: number;
  readonly zone: string;
  /** Default: 1. */
  readonly weight?: number;
  readonly hosts: readonly Host[];
}

function encode(localities: readonly Zone[]) {
  return ClusterLoadAssignment.encode(
    ClusterLoadAssignment.fromPartial({
      clusterName: 'c',
      endpoints: localities.map(({ priority, zone, weight: loadBalancingWeight = 1, hosts }) => ({
        priority,
        locality: { region: 'r', zone },
        loadBalancingWeight,
        lbEndpoints: hosts.map(({ address, weight, healthStatus }) => ({
          healthStatus,
          loadBalancingWeight: weight,
          hostIdentifier: {
            $case: 'endpoint',
            value: {
              address: {
                address: {
                  $case: 'socketAddress',
                  value: { address, portSpecifier: { $case: 'portValue', value: 80 } },
                },
              },
            },
          },
        })),
      })),
    }),
  ).finish();
}

describe('an assignment that changes a little', () => {
  it('has the value or the violations of one decoded as a whole, and describes the change of a plain comparison', () => {
    const random = seededRandom(5);
    const below = (limit: number) => Math.floor(random() * limit);
    // Few addresses, so that duplicates and returns happen; a weight of 0 and an unhealthy state among the rest.
    const host = (): Host => ({
      address: `10.0.${below(10)}.${below(80)}`,
      weight: random() < 0.02 ? 0 : 1 + below(3),
      healthStatus: random() < 0.1 ? 2 : 1,
    });
    const initial = (net: number): Host[] =>
      Array.from({ length: 40 }, (_, i) => ({
        address: `10.0.${net}.${i}`,
        weight: 1,
        healthStatus: 1,
      }));
    const zones = [
      { priority: 0, zone: 'a', hosts: initial(1) },
      { priority: 0, zone: 'b', hosts: initial(2) },
      { priority: 1, zone: 'a', hosts: initial(3) },
    ];
    let previous: Previous;
    let accepted = 0;
    let moves = 0;
    let recorded = 0;
    for (let round = 0; round < 250; round++) {
      const { hosts } = zones[below(3)] ?? zones[0] ?? { hosts: [] };
      const other = zones[below(3)] ?? zones[0] ?? { hosts: [] as Host[] };
      const beforeOther = [...other.hosts];
      const before = [...hosts];
      for (let changes = below(4); changes >= 0; changes--) {
        const at = below(hosts.length + 1);
        const kind = random();
        if (kind < 0.4) hosts.splice(at, 1, host());
        else if (kind < 0.6) hosts.splice(at, 1);
        else if (kind < 0.8) hosts.splice(at, 0, host());
        else if (kind < 0.95) hosts.splice(below(hosts.length), 0, ...hosts.splice(at, 1));
        // To another locality, or to the same one in another priority.
        else other.hosts.push(...hosts.splice(at, 1));
      }
      const bytes = encode(zones);
      const quick = decode(bytes, previous);
      const whole = decode(bytes, undefined);
      const withoutRecord = decode(bytes, previous && { value: previous.value });
      expect(outcomeOf(quick)).toEqual(outcomeOf(whole));
      expect(outcomeOf(withoutRecord)).toEqual(outcomeOf(whole));
      if (!quick.ok || !withoutRecord.ok || !whole.ok) {
        other.hosts.splice(0, other.hosts.length, ...beforeOther);
        hosts.splice(0, hosts.length, ...before);
        continue;
      }
      accepted++;
      if (quick.record !== undefined) recorded++;
      if (previous !== undefined) {
        const diff = plainDiff(previous.value, quick.value);
        const { added, removed, updated } = diff;
        const text = `endpoints: ${added.length} added, ${removed.length} removed, ${updated.length} updated`;
        for (const { value } of [quick, withoutRecord]) {
          expect(type.describeChange(previous.value, value)).toBe(text);
        }
        moves += Number(diff.added.length > 0 && diff.removed.length > 0);
      }
      previous = quick;
    }
    expect(accepted).toBeGreaterThan(50);
    expect(moves).toBeGreaterThan(10);
    expect(recorded).toBeGreaterThan(accepted / 2);
  });

  const hosts = Array.from({ length: 1000 }, (_, i): Host => ({
    address: `10.1.${i >> 8}.${i & 255}`,
    weight: 1,
    healthStatus: 1,
  }));
  const newHost = (i: number): Host => ({
    address: `10.9.${i >> 8}.${i & 255}`,
    weight: 1,
    healthStatus: 1,
  });

  it.each([
    ['one replaced', hosts.with(500, newHost(1)), 999],
    ['three replaced', hosts.with(5, newHost(1)).with(500, newHost(2)).with(999, newHost(3)), 997],
    ['some removed', hosts.filter((_, i) => i % 100 > 4), 950],
    ['some added', hosts.toSpliced(50, 0, newHost(1), newHost(2)), 1000],
    ['one moved', [...hosts.slice(100), ...hosts.slice(0, 100)], 1000],
    ['one unhealthy', hosts.with(7, { ...newHost(1), healthStatus: 2 }), 999],
    ['most replaced', hosts.map((host, i) => (i % 10 === 0 ? host : newHost(i))), 100],
  ])('keeps the endpoints that were there before: %s', (_case, changed, keeps) => {
    const before = decode(encode([{ priority: 0, zone: 'a', hosts }]), undefined);
    const after = decode(
      encode([{ priority: 0, zone: 'a', hosts: changed }]),
      before.ok ? before : undefined,
    );
    if (!before.ok || !after.ok) throw new Error('must be valid');
    const [was, is] = [before, after].map(
      ({ value }) => value.priorities[0]?.localities[0]?.endpoints ?? [],
    );
    const known = new Set(was);
    expect(is?.filter((endpoint) => known.has(endpoint))).toHaveLength(keeps);
    expect(is?.map(({ addresses }) => addresses[0]?.host)).toEqual(
      changed.filter(({ healthStatus }) => healthStatus === 1).map(({ address }) => address),
    );
  });

  it('may move an endpoint to another locality, and remove a locality', () => {
    const [a, b, c] = [0, 100, 200].map((start) => hosts.slice(start, start + 100));
    const zone = (name: string, list: readonly Host[] = []) => ({
      priority: 0,
      zone: name,
      hosts: list,
    });
    let previous: Previous;
    const steps = [
      [zone('a', a), zone('b', b), zone('c', c)],
      [zone('a', a?.slice(1)), zone('b', b?.concat(hosts[0] ?? [])), zone('c', c)],
      [zone('a', a?.slice(1)), zone('b', b?.concat(hosts[0] ?? []))],
      [zone('a', a?.slice(1)), zone('b', b?.concat(hosts[0] ?? [], hosts[200] ?? []))],
    ];
    for (const step of steps) {
      const bytes = encode(step);
      const result = decode(bytes, previous);
      expect(outcomeOf(result)).toEqual(outcomeOf(decode(bytes, undefined)));
      if (!result.ok) throw new Error('must be valid');
      previous = result;
    }
    const twice = [...(steps[3] ?? []), zone('d', hosts.slice(1, 2))];
    expect(decode(encode(twice), previous)).toEqual(decode(encode(twice), undefined));
    expect(decode(encode(twice), previous).ok).toBe(false);
    // What was refused changed nothing.
    const removed = decode(encode(steps[2] ?? []), previous);
    expect(removed.ok).toBe(true);
  });

  it('is decoded as a whole where much of it is new, so that its size is known', () => {
    const zone = (name: string, list: readonly Host[]) => ({
      priority: 0,
      zone: name,
      hosts: list,
    });
    const first = decode(encode([zone('a', hosts)]), undefined);
    if (!first.ok) throw new Error('must be valid');
    const others = hosts.map((_, i) => newHost(i));
    for (const [zones, isPartial] of [
      [[zone('a', hosts.slice(1))], true],
      [[zone('a', others)], false],
      [[zone('a', hosts), zone('b', others)], false],
    ] as const) {
      const result = decode(encode(zones), first);
      expect(result.ok && (result.isPartial ?? false)).toBe(isPartial);
    }
  });

  it('counts the endpoints of a locality that are draining', () => {
    const keeping = createEndpointsResourceType({ keepDraining: true });
    const draining: Host = { ...newHost(1), healthStatus: 3 };
    let previous: Previous;
    for (const list of [hosts, [...hosts, draining], hosts, [draining], [], hosts]) {
      const context = { server: serverWith(), previous: () => previous };
      const bytes = encode([{ priority: 0, zone: 'a', hosts: list }]);
      const { result } = decodeWhole(keeping, bytes, context);
      if (!result.ok) throw new Error('must be valid');
      const [locality] = result.value.priorities[0]?.localities ?? [];
      if (locality === undefined) throw new Error('must be there');
      expect(locality.draining).toBe(list.includes(draining) ? 1 : 0);
      previous = result;
    }
  });

  it('is decoded as a whole with the record of another resource, or of another type', () => {
    const zone = (name: string) => ({ priority: 0, zone: name, hosts: hosts.slice(0, 100) });
    const first = decode(encode([zone('a')]), undefined);
    const other = decode(encode([{ ...zone('a'), hosts: hosts.slice(100, 200) }]), undefined);
    if (!first.ok || !other.ok) throw new Error('must be valid');
    const bytes = encode([{ ...zone('a'), hosts: hosts.slice(0, 99) }]);
    for (const record of [other.record, undefined, new Map()]) {
      const result = decode(bytes, { value: first.value, record });
      expect(outcomeOf(result)).toEqual(outcomeOf(decode(bytes, undefined)));
    }
  });

  it.each([
    [{ a: 3, b: 98 }, 'weight of {region="r", zone="a", sub_zone=""} 2 -> 3, and 1 more'],
    [{ a: 2, b: 98 }, 'weight of {region="r", zone="b", sub_zone=""} 2 -> 98'],
    [{ a: 2, b: 2 }, 'endpoints: 0 added, 0 removed, 0 updated'],
  ])('describes that localities have other weights: %j', (weights, expected) => {
    const decoded = [{ a: 2, b: 2 }, weights].map(({ a, b }) =>
      decode(
        encode([
          { priority: 0, zone: 'a', weight: a, hosts: hosts.slice(0, 1) },
          { priority: 0, zone: 'b', weight: b, hosts: hosts.slice(1, 2) },
        ]),
        undefined,
      ),
    );
    const [first, next] = decoded.map((each) => (each.ok ? each.value : undefined));
    if (first === undefined || next === undefined) throw new Error('must be valid');
    expect(type.describeChange(first, next)).toBe(expected);
  });

  it('leaves the previous version as it was, so that several versions may follow it', () => {
    const first = decode(encode([{ priority: 0, zone: 'a', hosts }]), undefined);
    if (!first.ok) throw new Error('must be valid');
    for (const address of [1, 2, 1]) {
      const next = [{ priority: 0, zone: 'a', hosts: [...hosts, newHost(address)] }];
      const result = decode(encode(next), first);
      if (!result.ok) throw new Error('must be valid');
      expect(type.describeChange(first.value, result.value)).toBe(
        'endpoints: 1 added, 0 removed, 0 updated',
      );
      // An address that only the other version had is not a duplicate.
      expect(result.value.priorities[0]?.localities[0]?.endpoints).toHaveLength(1001);
    }
  });
});
