import { ColumnPool } from '../../../src/lb/ring-hash/column-pool';
import { addressKey, endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import { combinedWeights } from '../../../src/lb/endpoints/endpoint-weights';
import { RingMembers } from '../../../src/lb/ring-hash/ring-members';
import { ringKey, ringSortKey } from '../../../src/lb/ring-hash/ring-builder';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { runSteps } from '../../../src/util/steps';
import {
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';

const [A, B, C] = ['127.0.0.1:80', '127.0.0.2:80', '127.0.0.3:80'] as const;

function createMembers(normalizesWeights = true): RingMembers {
  return new RingMembers({
    columns: new ColumnPool(),
    normalizesWeights,
    placeOf: (endpoint) => ringKey(endpoint, true),
    sortKeyOf: ringSortKey,
  });
}

/** The slots with an endpoint. */
function slotsOf(members: RingMembers): number[] {
  return Array.from(members.order).sort((a, b) => a - b);
}

function keyOf(members: RingMembers, slot: number): string {
  return endpointKey(members.endpointIn(slot));
}

function keysOf(members: RingMembers): string[] {
  return slotsOf(members)
    .map((slot) => keyOf(members, slot))
    .sort();
}

function weightOf(members: RingMembers, key: string): number | undefined {
  const slot = slotsOf(members).find((each) => keyOf(members, each) === key);
  return slot === undefined ? undefined : members.weights[slot];
}

describe('the members of a ring', () => {
  it('stay with their set of addresses', () => {
    const members = createMembers();
    runSteps(members.update(singleLocality(makeEndpoint([A, B]), C)));
    const before = slotsOf(members);
    const changed = makeEndpoint([B, A].reverse(), { weight: 2 });
    const { rebound, moved } = runSteps(members.update(singleLocality(changed, C)));
    // Both are other objects, but nothing that places them changed.
    expect(rebound).toEqual(before);
    expect(members.endpointIn(before[0] ?? -1)).toBe(changed);
    expect(moved.size).toBe(0);
  });

  it('move when their first address or hash key changes', () => {
    const members = createMembers();
    runSteps(members.update(singleLocality(makeEndpoint([A, B]), C)));
    const other = singleLocality(makeEndpoint([B, A]), makeEndpoint(C, { hashKey: 'k' }));
    const slots = slotsOf(members);
    const { rebound, moved } = runSteps(members.update(other));
    expect(rebound).toEqual(slots);
    expect([...moved]).toEqual(slots);
  });

  it('have nothing done to them if the objects are the same, in whatever order', () => {
    const members = createMembers();
    const endpoints = [A, B, C].map((address) => makeEndpoint(address));
    runSteps(members.update(singleLocality(...endpoints)));
    for (const list of [endpoints, [...endpoints].reverse(), endpoints.slice(1), endpoints]) {
      const { rebound, moved } = runSteps(members.update(singleLocality(...list)));
      expect([rebound.length, moved.size]).toEqual([0, 0]);
      expect(members.size).toBe(list.length);
    }
  });

  it('have their weights added up if listed twice, and the first object counts', () => {
    const members = createMembers();
    const [first, second] = [makeEndpoint(A, { hashKey: 'x' }), makeEndpoint(A, { hashKey: 'y' })];
    const set = makeEndpointSet(makeLocality('x', [first, B]), makeLocality('y', [second, C]));
    for (let round = 0; round < 3; round++) {
      runSteps(members.update(set));
      expect(keysOf(members)).toEqual([A, B, C]);
      expect([A, B, C].map((key) => (weightOf(members, key) ?? 0) / 2 ** 29)).toEqual([2, 1, 1]);
      expect(slotsOf(members).map((slot) => members.endpointIn(slot))).toContain(first);
    }
    const { moved } = runSteps(members.update(singleLocality(second, B)));
    expect(keysOf(members)).toEqual([A, B]);
    expect([...moved].map((slot) => keyOf(members, slot))).toEqual([A]);
  });

  it('leave their slots to others', () => {
    const members = createMembers();
    for (let round = 0; round < 50; round++) {
      runSteps(members.update(singleLocality(`127.1.0.${round}:80`, `127.2.0.${round}:80`)));
    }
    expect(members.size).toBe(2);
    expect(members.weights.length).toBe(16);
    expect([...members.weights].filter((weight) => weight > 0)).toEqual([2 ** 30, 2 ** 30]);
  });

  it('are none in a slot that is empty', () => {
    const members = createMembers();
    expect(members.has(3)).toBe(false);
    expect(() => members.endpointIn(3)).toThrow('Slot 3 of a ring is empty');
  });

  it('may be as many as there are', () => {
    const members = createMembers();
    const endpoints: XdsEndpoint[] = [];
    for (let i = 0; i < 100; i++) {
      endpoints.push(makeEndpoint(`127.1.0.${i}:80`, { weight: i + 1 }));
      runSteps(members.update(singleLocality(...endpoints)));
    }
    expect(members.size).toBe(100);
    for (const slot of slotsOf(members)) {
      const { weight } = members.endpointIn(slot);
      expect(members.weights[slot]).toBe(Math.floor((weight * 2 ** 31) / 5050));
    }
  });

  it('are distinguished by all of their addresses, in any order', () => {
    const members = createMembers();
    runSteps(members.update(singleLocality(makeEndpoint([A, B]), makeEndpoint([C, C]))));
    const slots = slotsOf(members);
    runSteps(members.update(singleLocality(makeEndpoint([B, A, B]), C)));
    expect(slotsOf(members)).toEqual(slots);
    runSteps(members.update(singleLocality(A, makeEndpoint([B, C]))));
    expect(keysOf(members)).toEqual([A, `${B} ${C}`]);
  });

  it('are in the order of their places, after whatever updates', () => {
    const members = createMembers();
    const random = seededRandom(3);
    for (let round = 0; round < 200; round++) {
      const endpoints = Array.from({ length: Math.floor(random() * 12) }, () => {
        const hashKey = random() < 0.3 ? `key ${Math.floor(random() * 4)}` : undefined;
        return makeEndpoint(`127.1.0.${Math.floor(random() * 20)}:80`, { hashKey });
      });
      runSteps(members.update(singleLocality(...endpoints)));
      const places = Array.from(members.order, (slot) => {
        const endpoint = members.endpointIn(slot);
        return `${ringKey(endpoint, true)} ${endpointKey(endpoint)}`;
      });
      expect(places).toEqual([...places].sort());
      expect(places).toHaveLength(members.size);
    }
  });

  it('are compared by their addresses, whatever was in their slots before', () => {
    const members = createMembers();
    const compare = () => {
      const [first = 0, second = 0] = slotsOf(members);
      const orders = [
        members.compareKeys(first, second),
        members.compareKeys(second, first),
        members.compareKeys(first, first),
      ];
      return [keyOf(members, first), keyOf(members, second), ...orders];
    };
    runSteps(members.update(singleLocality(A, B)));
    expect(compare()).toEqual([A, B, -1, 1, 0]);
    runSteps(members.update(singleLocality(B)));
    runSteps(members.update(singleLocality(B, C)));
    expect(compare()).toEqual([C, B, 1, -1, 0]);
  });

  it('weigh the product of both weights where these are not normalized, also beyond 32 bits', () => {
    const members = createMembers(false);
    const greatest = 2 ** 32 - 1;
    const heavy = makeEndpoint(A, { weight: greatest });
    const set = makeEndpointSet(
      makeLocality('x', [heavy, B], greatest),
      makeLocality('y', [makeEndpoint(C, { weight: 5 })], 7),
      makeLocality('z', [C], 3),
    );
    runSteps(members.update(set));
    expect([A, B, C].map((key) => weightOf(members, key))).toEqual([greatest ** 2, greatest, 38]);
  });

  it('are those of the last update when many thousands are added and removed in steps', () => {
    const members = createMembers();
    const random = seededRandom(5);
    for (let round = 0; round < 5; round++) {
      const chosen = Array.from({ length: 9000 }, () => Math.floor(random() * 15_000));
      const endpoints = [...new Set(chosen)].map((i) =>
        makeEndpoint(`127.1.${i >> 8}.${i & 255}:80`),
      );
      const third = Math.floor(endpoints.length / 3);
      const set = makeEndpointSet(
        makeLocality('x', endpoints.slice(0, third), 1),
        makeLocality('y', endpoints.slice(third), 3),
      );
      let steps = 0;
      for (const update = members.update(set); update.next().done !== true;) steps++;
      expect(steps).toBeGreaterThan(30);
      const expected = runSteps(combinedWeights(set));
      const rows = endpoints.map(({ addresses }, i) => ({
        key: addresses.map(addressKey).join(),
        weight: expected[i],
      }));
      rows.sort((a, b) => (a.key < b.key ? -1 : 1));
      const actual = Array.from(members.order, (slot) => ({
        key: keyOf(members, slot),
        weight: members.weights[slot],
      }));
      expect(actual).toEqual(rows);
    }
  });

  it('may come from more localities than a function has arguments', () => {
    const members = createMembers();
    const localities = Array.from({ length: 200_000 }, (_, i) =>
      makeLocality(`l${i}`, [makeEndpoint(`127.${i >> 16}.${(i >> 8) & 255}.${i & 255}:80`)]),
    );
    runSteps(members.update({ localities, children: undefined }));
    expect(members.size).toBe(200_000);
  });
});
