import { HealthStatus } from '../../src/wire/generated/envoy/config/core/v3/health_check';
import { ClusterLoadAssignment } from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint_components';
import type { EndpointsResource } from '../../src/resources/endpoints/endpoints';
import { createEndpointsResourceType } from '../../src/resources/endpoints/endpoints-parser';
import {
  decodeWhole,
  type Decoded,
  type PreviousVersion,
} from '../../src/xds-client/resource-type';
import { seededRandom } from '../support/seeded-random';
import { decodeInParts, serverWith } from './decode-json';

const type = createEndpointsResourceType({});
const LONG = 'x'.repeat(400);

function context(previous?: PreviousVersion<EndpointsResource>) {
  return { server: serverWith(), previous: () => previous };
}

/** The name, and the value or everything that is wrong. */
function outcomeOf({ name, result }: Decoded<EndpointsResource>) {
  return { name, outcome: result.ok ? result.value : result.error };
}

function inParts(bytes: Uint8Array, previous?: PreviousVersion<EndpointsResource>) {
  return decodeInParts(type, bytes, context(previous));
}

function endpoint(address: string, extra: Parameters<typeof LbEndpoint.fromPartial>[0] = {}) {
  return LbEndpoint.fromPartial({
    hostIdentifier: {
      $case: 'endpoint',
      value: {
        hostname: LONG,
        address: {
          address: {
            $case: 'socketAddress',
            value: { address, portSpecifier: { $case: 'portValue', value: 80 } },
          },
        },
      },
    },
    ...extra,
  });
}

function assignment(endpoints: readonly LocalityLbEndpoints[]): Uint8Array {
  return ClusterLoadAssignment.encode(
    ClusterLoadAssignment.fromPartial({ clusterName: 'c', endpoints: [...endpoints] }),
  ).finish();
}

function locality(zone: string, lbEndpoints: LbEndpoint[], weight = 1): LocalityLbEndpoints {
  return LocalityLbEndpoints.fromPartial({
    locality: { region: 'r', zone },
    loadBalancingWeight: weight,
    lbEndpoints,
  });
}

/** Localities and endpoints of which some get no calls and, now and then, one is invalid. */
function randomAssignment(seed: number): Uint8Array {
  const random = seededRandom(seed);
  const oneIn = (count: number) => random() < 1 / count;
  const localities = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, zone) => {
    const endpoints = Array.from({ length: 100 + Math.floor(random() * 150) }, (_unused, i) =>
      endpoint(oneIn(2000) ? '10.0.0.0' : oneIn(2000) ? 'not an address' : `10.0.${zone}.${i}`, {
        ...(oneIn(10) && { healthStatus: HealthStatus.UNHEALTHY }),
        ...(oneIn(5) && { loadBalancingWeight: Math.floor(random() * 3) + (oneIn(500) ? 0 : 1) }),
      }),
    );
    const message = locality(`${zone}`, endpoints, oneIn(6) ? 0 : 1 + zone);
    return {
      ...message,
      priority: oneIn(10) ? 2 : 0,
      ...(oneIn(20) && { locality: undefined }),
    };
  });
  return assignment(localities);
}

describe('an assignment decoded in parts', () => {
  const seeds = Array.from({ length: 60 }, (_, seed) => seed);

  it('has the value, and the violations, of one decoded as a whole', () => {
    let invalid = 0;
    let breaks = 0;
    for (const seed of seeds) {
      const bytes = randomAssignment(seed);
      const whole = decodeWhole(type, bytes, context());
      const { decoded, count } = inParts(bytes);
      expect(outcomeOf(decoded)).toEqual(outcomeOf(whole));
      breaks += count;
      if (!whole.result.ok) invalid++;
    }
    expect(breaks).toBeGreaterThan(seeds.length);
    expect(invalid).toBeGreaterThan(5);
    expect(invalid).toBeLessThan(seeds.length - 5);
  });

  it('shares with the last value what one decoded as a whole shares', () => {
    const before = [1, 2].map((zone) =>
      locality(
        `${zone}`,
        Array.from({ length: 200 }, (_, i) => endpoint(`10.0.${zone}.${i}`)),
      ),
    );
    const first = inParts(assignment(before)).decoded.result;
    if (!first.ok) throw new Error(first.error.join());
    const others = Array.from({ length: 200 }, (_, i) => endpoint(`10.1.0.${i}`));
    const [kept] = before;
    if (kept === undefined) throw new Error('no locality');
    const { decoded, count } = inParts(assignment([kept, locality('2', others)]), first);
    expect(count).toBeGreaterThan(1);
    if (!decoded.result.ok) throw new Error(decoded.result.error.join());
    const [was] = first.value.priorities;
    const [is] = decoded.result.value.priorities;
    expect(is?.localities[0]).toBe(was?.localities[0]);
    expect(is?.localities[1]).not.toBe(was?.localities[1]);
  });

  const endpoints = Array.from({ length: 400 }, (_, i) => endpoint(`10.0.${i >> 8}.${i & 255}`));
  const whole = assignment([locality('a', endpoints)]);
  /** An endpoint that ends within its address. */
  const broken = LbEndpoint.encode(endpoint('10.9.9.9')).finish().slice();
  broken[1] = 0x7f;
  const withBroken = (weight: number) => {
    const rest = LocalityLbEndpoints.encode(locality('a', endpoints, weight)).finish();
    const last = [Buffer.from([0x12, ...varint(broken.length)]), broken];
    const inner = Buffer.concat([rest, ...last]);
    return Buffer.concat([Buffer.from([0x0a, 1, 0x63, 0x12, ...varint(inner.length)]), inner]);
  };

  it.each([
    ['the assignment is cut', whole.subarray(0, whole.length - 3)],
    ['an endpoint is cut', withBroken(1)],
    ['an endpoint is cut in a locality that gets no calls', withBroken(0)],
  ])('is rejected as malformed, and as nothing else, where %s', (_what, bytes) => {
    expect(decodeWhole(type, bytes, context()).result.ok).toBe(false);
    expect(inParts(bytes).decoded.result).toEqual({
      ok: false,
      error: [expect.stringMatching(/^malformed message: /)],
    });
  });

  const plain = (count: number, port: number, third = 0) =>
    Array.from({ length: count }, (_, i) => {
      const { hostIdentifier } = endpoint(`10.${third}.${i >> 8}.${i & 255}`);
      if (hostIdentifier?.$case !== 'endpoint') throw new Error('no endpoint');
      const { address } = hostIdentifier.value;
      if (address?.address?.$case !== 'socketAddress') throw new Error('no address');
      const portSpecifier = { $case: 'portValue' as const, value: port };
      const socketAddress = { ...address.address.value, portSpecifier };
      const value = {
        address: { address: { $case: 'socketAddress' as const, value: socketAddress } },
      };
      return LbEndpoint.fromPartial({ hostIdentifier: { $case: 'endpoint', value } });
    });

  it('has breaks for a thousand localities, however few bytes they have', () => {
    const zones = (weight: number) =>
      assignment(Array.from({ length: 1000 }, (_, i) => locality(`${i}`, [], weight)));
    expect(zones(1).length).toBeLessThan(2 ** 16);
    const { decoded, count } = inParts(zones(1));
    expect(count).toBeGreaterThan(1000 / 32);
    if (!decoded.result.ok) throw new Error('must be valid');
    expect(inParts(zones(2), decoded.result).count).toBeGreaterThan(1000 / 32);
  });

  it('has breaks for many changes of a large one, of which all are found', () => {
    const large = inParts(assignment([locality('a', plain(8000, 80))])).decoded.result;
    if (!large.ok) throw new Error('must be valid');
    const next = plain(8000, 80).map((each, i) => (i % 40 === 0 ? plain(1, 81, i / 40)[0] : each));
    const bytes = assignment([
      locality(
        'a',
        next.flatMap((each) => each ?? []),
      ),
    ]);
    const { decoded, count } = inParts(bytes, large);
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(8000 / 64);
    expect(outcomeOf(decoded)).toEqual(outcomeOf(inParts(bytes).decoded));
  });

  it('keeps the endpoints of a version whose order changed', () => {
    const large = inParts(assignment([locality('a', plain(8000, 80))])).decoded.result;
    if (!large.ok) throw new Error('must be valid');
    const { decoded } = inParts(assignment([locality('a', plain(8000, 80).reverse())]), large);
    if (!decoded.result.ok) throw new Error('must be valid');
    const [was, is] = [large, decoded.result].map(
      ({ value }) => value.priorities[0]?.localities[0]?.endpoints ?? [],
    );
    expect(is).toEqual(was?.toReversed());
    expect(new Set(is)).toEqual(new Set(was));
  });
});

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
}
