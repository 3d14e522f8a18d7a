import { createEndpointsResourceType } from '../../src/resources/endpoints-parser';
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
    for (let round = 0; round < 3000; round++) {
      const { hosts } = zones[below(3)] ?? zones[0] ?? { hosts: [] };
      const before = [...hosts];
      const at = below(hosts.length + 1);
      if (random() < 0.5) hosts.splice(at, 1, host());
      else if (random() < 0.4) hosts.splice(at, 1);
      else hosts.splice(at, 0, host());
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

  it('keeps every endpoint but the one that was replaced', () => {
    const hosts = Array.from({ length: 1000 }, (_, i) => ({
      address: `10.1.${i >> 8}.${i & 255}`,
      weight: 1,
      healthStatus: 1,
    }));
    const before = decode(encode([{ priority: 0, zone: 'a', hosts }]), undefined);
    const changed = hosts.with(500, { address: '10.9.9.9', weight: 1, healthStatus: 1 });
    const after = decode(
      encode([{ priority: 0, zone: 'a', hosts: changed }]),
      before.ok ? before.value : undefined,
    );
    if (!before.ok || !after.ok) throw new Error('must be valid');
    const [was, is] = [before, after].map(
      ({ value }) => value.priorities[0]?.localities[0]?.endpoints ?? [],
    );
    const kept = is?.filter((endpoint, i) => endpoint === was?.[i]);
    expect(kept).toHaveLength(999);
  });
});
