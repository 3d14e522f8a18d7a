import { RingMembers } from '../../../src/lb/ring-hash/ring-members';
import { ringKey } from '../../../src/lb/ring-hash/ring-key';
import type { XdsEndpoint } from '../../../src/resources/endpoints';
import {
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';

const [A, B, C] = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'] as const;

function createMembers(): RingMembers {
  const random = seededRandom(1);
  return new RingMembers((endpoint) => ringKey(endpoint, true), random);
}

function keysOf(members: RingMembers): string[] {
  return [...members.all()].map(({ key }) => key).sort();
}

function weightOf(members: RingMembers, key: string): number | undefined {
  const member = [...members.all()].find((m) => m.key === key);
  return member && members.weights[member.slot];
}

describe('the members of a ring', () => {
  it('stay with their set of addresses', () => {
    const members = createMembers();
    members.update(singleLocality(makeEndpoint([A, B]), C));
    const before = [...members.all()];
    const draws = members.draws.slice();
    const changed = makeEndpoint([A, B], { weight: 2 });
    const { removed, rebound, moved } = members.update(singleLocality(changed, C));
    expect([...members.all()]).toEqual(before);
    expect(removed).toEqual([]);
    // Both are other objects, but nothing that places them changed.
    expect(rebound.length).toBe(2);
    expect(rebound[0]?.endpoint).toBe(changed);
    expect(moved.size).toBe(0);
    expect(members.draws).toEqual(draws);
  });

  it('move when their first address or hash key changes', () => {
    const members = createMembers();
    members.update(singleLocality(makeEndpoint([A, B]), C));
    const other = singleLocality(makeEndpoint([B, A]), makeEndpoint(C, { hashKey: 'k' }));
    const { rebound, moved, removed } = members.update(other);
    expect([rebound.length, moved.size, removed.length]).toEqual([2, 2, 0]);
  });

  it('have nothing done to them if the objects are the same, in whatever order', () => {
    const members = createMembers();
    const endpoints = [A, B, C].map((address) => makeEndpoint(address));
    members.update(singleLocality(...endpoints));
    for (const list of [endpoints, [...endpoints].reverse(), endpoints.slice(1), endpoints]) {
      const { rebound, moved } = members.update(singleLocality(...list));
      expect([rebound.length, moved.size]).toEqual([0, 0]);
      expect(members.size).toBe(list.length);
    }
  });

  it('have their weights added up if listed twice, and the first object counts', () => {
    const members = createMembers();
    const [first, second] = [makeEndpoint(A, { hashKey: 'x' }), makeEndpoint(A, { hashKey: 'y' })];
    const set = makeEndpointSet(makeLocality('x', [first, B]), makeLocality('y', [second, C]));
    for (let round = 0; round < 3; round++) {
      const { removed } = members.update(set);
      expect(removed).toEqual([]);
      expect(keysOf(members)).toEqual([A, B, C]);
      expect([A, B, C].map((key) => (weightOf(members, key) ?? 0) / 2 ** 29)).toEqual([2, 1, 1]);
      expect([...members.all()].find(({ key }) => key === A)?.endpoint).toBe(first);
    }
    const { removed, moved } = members.update(singleLocality(second, B));
    expect(removed.map(({ key }) => key)).toEqual([C]);
    expect([...moved].map(({ key }) => key)).toEqual([A]);
  });

  it('leave their slots to others', () => {
    const members = createMembers();
    for (let round = 0; round < 50; round++) {
      members.update(singleLocality(`10.1.0.${round}:80`, `10.2.0.${round}:80`));
    }
    expect(members.size).toBe(2);
    expect(members.weights.length).toBe(16);
    expect([...members.weights].filter((weight) => weight > 0)).toEqual([2 ** 30, 2 ** 30]);
    for (const member of members.all()) expect(members.inSlot(member.slot)).toBe(member);
  });

  it('are none in a slot that is empty', () => {
    const members = createMembers();
    expect(() => members.inSlot(3)).toThrow('Slot 3 of a ring is empty');
  });

  it('may be as many as there are', () => {
    const members = createMembers();
    const endpoints: XdsEndpoint[] = [];
    for (let i = 0; i < 100; i++) {
      endpoints.push(makeEndpoint(`10.1.0.${i}:80`, { weight: i + 1 }));
      members.update(singleLocality(...endpoints));
    }
    expect(members.size).toBe(100);
    for (const { endpoint, slot } of members.all()) {
      expect(members.weights[slot]).toBe(Math.floor((endpoint.weight * 2 ** 31) / 5050));
      expect(members.draws[slot]).toBeGreaterThan(0);
    }
  });
});
