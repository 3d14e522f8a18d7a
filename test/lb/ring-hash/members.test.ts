import { endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import { combinedWeigher } from '../../../src/lb/endpoints/endpoint-weights';
import {
  type Member,
  ringKeyOf,
  RingMembers,
  type RingMembersOptions,
} from '../../../src/lb/ring-hash/members';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { makeEndpoint, makeLocality, singleLocality } from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';

function keyOf({ endpoint }: Member): string {
  return endpointKey(endpoint);
}

class Subject {
  readonly members: RingMembers;

  constructor(options: Partial<RingMembersOptions> = {}) {
    this.members = new RingMembers({ weigher: combinedWeigher, usesHashKeys: true, ...options });
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
});

describe('the members of a ring', () => {
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

  it('may come from more localities than a function has arguments', () => {
    const subject = new Subject();
    const localities = Array.from({ length: 200_000 }, (_, i) =>
      makeLocality(`l${i}`, [makeEndpoint(`127.${i >> 16}.${(i >> 8) & 255}.${i & 255}:80`)]),
    );
    subject.update({ localities, children: undefined });
    expect(subject.members.size).toBe(200_000);
  });
});
