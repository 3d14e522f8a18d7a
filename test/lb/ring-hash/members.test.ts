import { addressKey, endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import { combinedWeights } from '../../../src/lb/endpoints/endpoint-weights';
import {
  type Member,
  ringKeyOf,
  RingMembers,
  type RingMembersOptions,
} from '../../../src/lb/ring-hash/members';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import {
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';

const [A, B, C] = ['127.0.0.1:80', '127.0.0.2:80', '127.0.0.3:80'] as const;

function keyOf({ endpoint }: Member): string {
  return endpointKey(endpoint);
}

class Subject {
  readonly members: RingMembers;

  constructor(options: Partial<RingMembersOptions> = {}) {
    this.members = new RingMembers({ normalizesWeights: true, usesHashKeys: true, ...options });
  }

  /** @returns The members with another endpoint object. */
  update(set: EndpointSet): readonly Member[] {
    const listing = this.members.beginUpdate(set);
    while (this.members.listSome(listing));
    return this.members.endUpdate(listing);
  }

  /** The members in the order of the last list. */
  get listed(): readonly Member[] {
    return [...this.members.inListOrder];
  }

  get keys(): string[] {
    return this.listed.map(keyOf).sort();
  }

  weightOf(key: string): number | undefined {
    return this.listed.find((member) => keyOf(member) === key)?.weight;
  }
}

describe('what places an endpoint on the ring', () => {
  it.each([
    ['its only address', makeEndpoint('127.0.0.1:80'), '127.0.0.1:80'],
    ['the first of its addresses', makeEndpoint(['127.0.0.2:80', '127.0.0.1:80']), '127.0.0.2:80'],
    ['an IPv6 address in brackets', makeEndpoint('[::1]:80'), '[::1]:80'],
    ['its hash key', makeEndpoint('127.0.0.1:80', { hashKey: 'pod-1' }), 'pod-1'],
    ['nothing without an address', makeEndpoint([]), ''],
  ])('is %s', (_case, endpoint, key) => {
    expect(ringKeyOf(endpoint, true)).toBe(key);
  });

  it('is its address if hash keys are not used', () => {
    expect(ringKeyOf(makeEndpoint('127.0.0.1:80', { hashKey: 'pod-1' }), false)).toBe(
      '127.0.0.1:80',
    );
  });
});

describe('the members of a ring', () => {
  it('stay with their set of addresses', () => {
    const subject = new Subject();
    subject.update(singleLocality(makeEndpoint([A, B]), C));
    const before = subject.listed;
    const changed = makeEndpoint([A, B], { weight: 2 });
    // Both are other objects, but nothing that places them changed.
    expect(subject.update(singleLocality(changed, C))).toEqual(before);
    expect(subject.listed).toEqual(before);
    expect(before[0]?.endpoint).toBe(changed);
    expect(before.map((member) => subject.members.ringKeyOf(member))).toEqual([A, C]);
  });

  it('move when their first address or hash key changes', () => {
    const subject = new Subject();
    subject.update(singleLocality(makeEndpoint([A, B]), C));
    const before = subject.listed;
    const other = singleLocality(makeEndpoint([B, A]), makeEndpoint(C, { hashKey: 'k' }));
    expect(subject.update(other)).toEqual(before);
    expect(subject.listed).toEqual(before);
    expect(before.map((member) => subject.members.ringKeyOf(member))).toEqual([B, 'k']);
  });

  it('have nothing done to them if the objects are the same, in whatever order', () => {
    const subject = new Subject();
    const endpoints = [A, B, C].map((address) => makeEndpoint(address));
    subject.update(singleLocality(...endpoints));
    for (const list of [endpoints, [...endpoints].reverse(), endpoints.slice(1), endpoints]) {
      expect(subject.update(singleLocality(...list))).toEqual([]);
      expect(subject.members.size).toBe(list.length);
      expect(subject.listed.map(({ endpoint }) => endpoint)).toEqual(list);
    }
  });

  it('have their weights added up if listed twice, and the first object counts', () => {
    const subject = new Subject();
    const [first, second] = [makeEndpoint(A, { hashKey: 'x' }), makeEndpoint(A, { hashKey: 'y' })];
    const set = makeEndpointSet(makeLocality('x', [first, B]), makeLocality('y', [second, C]));
    for (let round = 0; round < 3; round++) {
      subject.update(set);
      expect(subject.keys).toEqual([A, B, C]);
      expect(subject.members.size).toBe(3);
      expect([A, B, C].map((key) => (subject.weightOf(key) ?? 0) / 2 ** 29)).toEqual([2, 1, 1]);
      expect(subject.listed.map(({ endpoint }) => endpoint)).toContain(first);
    }
    subject.update(singleLocality(second, B));
    expect(subject.keys).toEqual([A, B]);
    expect(subject.listed.map((member) => subject.members.ringKeyOf(member))).toEqual(['y', B]);
  });

  it('are removed when they are not listed any more', () => {
    const subject = new Subject();
    for (let round = 0; round < 50; round++) {
      subject.update(singleLocality(`127.1.0.${round}:80`, `127.2.0.${round}:80`));
      expect(subject.members.inRingOrder.map(({ weight }) => weight)).toEqual([2 ** 30, 2 ** 30]);
    }
    expect(subject.members.size).toBe(2);
  });

  it('come back as new ones', () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    const [before] = subject.listed;
    subject.update(singleLocality(B));
    subject.update(singleLocality(A, B));
    const [after] = subject.listed;
    expect([before, after].map((member) => member && keyOf(member))).toEqual([A, A]);
    expect(after).not.toBe(before);
  });

  it('may be as many as there are', () => {
    const subject = new Subject();
    const endpoints: XdsEndpoint[] = [];
    for (let i = 0; i < 100; i++) {
      endpoints.push(makeEndpoint(`127.1.0.${i}:80`, { weight: i + 1 }));
      subject.update(singleLocality(...endpoints));
    }
    expect(subject.members.size).toBe(100);
    for (const { endpoint, weight } of subject.listed) {
      expect(weight).toBe(Math.floor((endpoint.weight * 2 ** 31) / 5050));
    }
  });

  it('are distinguished by all of their addresses, in any order', () => {
    const subject = new Subject();
    subject.update(singleLocality(makeEndpoint([A, B]), makeEndpoint([C, C])));
    const before = subject.listed;
    subject.update(singleLocality(makeEndpoint([B, A, B]), C));
    expect(subject.listed).toEqual(before);
    subject.update(singleLocality(A, makeEndpoint([B, C])));
    expect(subject.keys).toEqual([A, `${B} ${C}`]);
  });

  it.each<[string, Partial<RingMembersOptions>]>([
    ['', {}],
    [', with few hashes of identities', { identityHash: { hashText: (key) => key.length & 1 } }],
    [', with one hash of all identities', { identityHash: { hashText: () => 2 ** 32 - 1 } }],
  ])('are in the order of their keys on the ring, after whatever updates%s', (_, options) => {
    const subject = new Subject(options);
    const random = seededRandom(3);
    for (let round = 0; round < 200; round++) {
      const endpoints = Array.from({ length: Math.floor(random() * 12) }, () => {
        const hashKey = random() < 0.3 ? `key ${Math.floor(random() * 4)}` : undefined;
        return makeEndpoint(`127.1.0.${Math.floor(random() * 20)}:80`, { hashKey });
      });
      subject.update(singleLocality(...endpoints));
      const places = subject.members.inRingOrder.map(
        (member) => `${subject.members.ringKeyOf(member)} ${keyOf(member)}`,
      );
      expect(places).toEqual([...places].sort());
      expect(new Set(subject.members.inRingOrder)).toEqual(new Set(subject.listed));
      const identities = new Set(endpoints.map((endpoint) => endpointKey(endpoint)));
      expect(subject.keys).toEqual([...identities].sort());
    }
  });

  it('weigh the product of both weights where these are not normalized, also beyond 32 bits', () => {
    const subject = new Subject({ normalizesWeights: false });
    const greatest = 2 ** 32 - 1;
    const heavy = makeEndpoint(A, { weight: greatest });
    const set = makeEndpointSet(
      makeLocality('x', [heavy, B], greatest),
      makeLocality('y', [makeEndpoint(C, { weight: 5 })], 7),
      makeLocality('z', [C], 3),
    );
    subject.update(set);
    expect([A, B, C].map((key) => subject.weightOf(key))).toEqual([greatest ** 2, greatest, 38]);
  });

  it('are those of the last update when many thousands are added and removed', () => {
    const subject = new Subject();
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
      subject.update(set);
      const expected = combinedWeights(set);
      const rows = endpoints.map(({ addresses }, i) => ({
        key: addresses.map(addressKey).join(),
        weight: expected[i],
      }));
      rows.sort((a, b) => (a.key < b.key ? -1 : 1));
      const actual = subject.members.inRingOrder.map((member) => ({
        key: keyOf(member),
        weight: member.weight,
      }));
      expect(actual).toEqual(rows);
    }
  });

  it('may come from more localities than a function has arguments', () => {
    const subject = new Subject();
    const localities = Array.from({ length: 200_000 }, (_, i) =>
      makeLocality(`l${i}`, [makeEndpoint(`127.${i >> 16}.${(i >> 8) & 255}.${i & 255}:80`)]),
    );
    subject.update({ localities, children: undefined });
    expect(subject.members.size).toBe(200_000);
  });
});
