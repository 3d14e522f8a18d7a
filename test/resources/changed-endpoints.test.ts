import { createEndpointsResourceType } from '../../src/resources/endpoints-parser';
import { isKnownNotDraining } from '../../src/resources/endpoint-slices';
import type { EndpointsResource } from '../../src/resources/endpoints';
import { ClusterLoadAssignment } from '../../src/generated/envoy/config/endpoint/v3/endpoint';
import { seededRandom } from '../support/seeded-random';
import { serverWith } from './decode-json';

const type = createEndpointsResourceType({});

function decode(bytes: Uint8Array, previous: EndpointsResource | undefined) {
  return type.decode(bytes, { server: serverWith(), previous: () => previous }).result;
}

interface Host {
  readonly address: string;
  readonly weight: number;
  readonly healthStatus: number;
}

function encode(localities: readonly { priority: number; zone: string; hosts: readonly Host[] }[]) {
  return ClusterLoadAssignment.encode(
    ClusterLoadAssignment.fromPartial({
      clusterName: 'c',
      endpoints: localities.map(({ priority, zone, hosts }) => ({
        priority,
        locality: { region: 'r', zone },
        loadBalancingWeight: 1,
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
  it('decodes to the same, or to the same complaints, as one decoded as a whole', () => {
    const random = seededRandom(5);
    const below = (limit: number) => Math.floor(random() * limit);
    // Few addresses, so that duplicates and returns happen; a weight of 0 and an unhealthy state among the rest.
    const host = (): Host => ({
      address: `10.0.${below(3)}.${below(40)}`,
      weight: random() < 0.02 ? 0 : 1 + below(3),
      healthStatus: random() < 0.1 ? 2 : 1,
    });
    const zones = [
      { priority: 0, zone: 'a', hosts: [] as Host[] },
      { priority: 0, zone: 'b', hosts: [] as Host[] },
      { priority: 1, zone: 'a', hosts: [] as Host[] },
    ];
    let previous: EndpointsResource | undefined;
    let accepted = 0;
    for (let round = 0; round < 2000; round++) {
      const { hosts } = zones[below(3)] ?? zones[0] ?? { hosts: [] };
      const before = [...hosts];
      for (let changes = below(4); changes >= 0; changes--) {
        const at = below(hosts.length + 1);
        const kind = random();
        if (kind < 0.4) hosts.splice(at, 1, host());
        else if (kind < 0.6) hosts.splice(at, 1);
        else if (kind < 0.8) hosts.splice(at, 0, host());
        else hosts.splice(below(hosts.length), 0, ...hosts.splice(at, 1));
      }
      const bytes = encode(zones);
      const quick = decode(bytes, previous);
      const whole = decode(bytes, undefined);
      expect(quick).toEqual(whole);
      if (quick.ok) {
        accepted++;
        previous = quick.value;
      } else {
        hosts.splice(0, hosts.length, ...before);
      }
    }
    expect(accepted).toBeGreaterThan(100);
  });

  const hosts = Array.from({ length: 1000 }, (_, i) => ({
    address: `10.1.${i >> 8}.${i & 255}`,
    weight: 1,
    healthStatus: 1,
  }));
  const newHost = (i: number) => ({
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
      before.ok ? before.value : undefined,
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
    let previous: EndpointsResource | undefined;
    const steps = [
      [zone('a', a), zone('b', b), zone('c', c)],
      [zone('a', a?.slice(1)), zone('b', b?.concat(hosts[0] ?? [])), zone('c', c)],
      [zone('a', a?.slice(1)), zone('b', b?.concat(hosts[0] ?? []))],
      [zone('a', a?.slice(1)), zone('b', b?.concat(hosts[0] ?? [], hosts[200] ?? []))],
    ];
    for (const step of steps) {
      const bytes = encode(step);
      const result = decode(bytes, previous);
      expect(result).toEqual(decode(bytes, undefined));
      if (!result.ok) throw new Error('must be valid');
      previous = result.value;
    }
    const twice = [...(steps[3] ?? []), zone('d', hosts.slice(1, 2))];
    expect(decode(encode(twice), previous)).toEqual(decode(encode(twice), undefined));
    expect(decode(encode(twice), previous).ok).toBe(false);
    // What was refused changed nothing.
    const removed = decode(encode(steps[2] ?? []), previous);
    expect(removed.ok).toBe(true);
  });

  it('says of a locality that none of its endpoints is draining, as long as that is so', () => {
    const keeping = createEndpointsResourceType({ keepDraining: true });
    const draining = { ...newHost(1), healthStatus: 3 };
    let previous: EndpointsResource | undefined;
    for (const list of [hosts, [...hosts, draining], hosts, [draining], [], hosts]) {
      const context = { server: serverWith(), previous: () => previous };
      const bytes = encode([{ priority: 0, zone: 'a', hosts: list }]);
      const { result } = keeping.decode(bytes, context);
      if (!result.ok) throw new Error('must be valid');
      const [locality] = result.value.priorities[0]?.localities ?? [];
      if (locality === undefined) throw new Error('must be there');
      expect(isKnownNotDraining(locality)).toBe(!list.includes(draining));
      expect(isKnownNotDraining({ ...locality })).toBe(false);
      previous = result.value;
    }
  });
});
