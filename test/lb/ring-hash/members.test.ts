import { endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import { combinedWeigher } from '../../../src/lb/endpoints/endpoint-weights';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { Members, MembersListing, ringKeyOf } from '../../../src/lb/ring-hash/members';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { makeEndpoint, makeLocality, singleLocality } from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';

function update(previous: Members, set: EndpointSet): Members {
  const rules = { weigher: combinedWeigher, usesHashKeys: true };
  const listing = new MembersListing(previous, set, rules);
  while (listing.advance());
  return listing.finish().members;
}

/** The endpoints with some numbers. */
const named = (members: Members, numbers: readonly number[]): readonly XdsEndpoint[] =>
  numbers.flatMap((number) => members.endpoints[number] ?? []);

const placeOf = (endpoint: XdsEndpoint) => `${ringKeyOf(endpoint, true)} ${endpointKey(endpoint)}`;

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

/** A list of up to 12 of 20 endpoints, some of them twice, in any order, or much of the one before. */
function nextList(before: readonly XdsEndpoint[], random: () => number): readonly XdsEndpoint[] {
  const upTo = (count: number) => Math.floor(random() * count);
  const create = () => {
    const hashKey = random() < 0.3 ? `key ${upTo(4)}` : undefined;
    return makeEndpoint(`127.1.0.${upTo(20)}:80`, { hashKey, weight: 1 + upTo(3) });
  };
  const start = upTo(before.length);
  const kind = random();
  if (kind < 0.3) return before.filter((_, i) => i < start || i > start + upTo(30));
  if (kind < 0.5) return before.map((each, i) => (i === start ? create() : each));
  if (kind < 0.6) return before.map((each) => ({ ...each }));
  return Array.from({ length: upTo(12) }, create);
}

/** Endpoints with the same address have the same key: no other ones can be in an assignment. */
function alike(list: readonly XdsEndpoint[]): readonly XdsEndpoint[] {
  const firsts = new Map<string, XdsEndpoint>();
  return list.map((endpoint) => {
    const key = endpointKey(endpoint);
    const first = firsts.get(key) ?? endpoint;
    firsts.set(key, first);
    return first.hashKey === endpoint.hashKey ? endpoint : { ...endpoint, hashKey: first.hashKey };
  });
}

describe('the members of a ring', () => {
  it('are in the order of their keys on the ring, and keep their numbers, after whatever updates', () => {
    const random = seededRandom(3);
    let members = Members.none;
    let list: readonly XdsEndpoint[] = [];
    for (let round = 0; round < 1000; round++) {
      const previous = members;
      list = alike(nextList(list, random));
      const set = singleLocality(...list);
      members = update(previous, set);
      const fresh = update(Members.none, set);
      const places = named(members, members.sorted).map(placeOf);
      expect(places).toEqual([...places].sort());
      expect(places).toEqual(named(fresh, fresh.sorted).map(placeOf));
      expect(named(members, members.listed).map(endpointKey)).toEqual(list.map(endpointKey));
      expect(new Set(members.listed)).toEqual(new Set(members.sorted));
      const weights = ({ sorted, weights: all }: Members) => sorted.map((number) => all[number]);
      expect(weights(members)).toEqual(weights(fresh));
      for (const number of previous.sorted) {
        const [endpoint] = named(previous, [number]);
        if (endpoint === undefined) throw new Error(`There is no endpoint ${number}`);
        const found = members.find(endpoint, number, true);
        const isListed = list.some((each) => endpointKey(each) === endpointKey(endpoint));
        const isSparse = members.endpoints.length < previous.endpoints.length;
        if (isListed && !isSparse) expect(found).toBe(number);
        if (!isListed) expect(found).toBeUndefined();
      }
    }
  });

  it('are the same object if nothing changed', () => {
    const list = Array.from({ length: 5 }, (_, i) => makeEndpoint(`127.0.0.${i}:80`));
    const members = update(Members.none, singleLocality(...list));
    expect(update(members, singleLocality(...list))).toBe(members);
    expect(update(members, singleLocality(...[...list].reverse()))).not.toBe(members);
    expect(update(members, singleLocality(...list.slice(1)))).not.toBe(members);
  });

  it('are found by their addresses with other numbers as well', () => {
    const list = Array.from({ length: 50 }, (_, i) =>
      makeEndpoint(`127.0.0.${i}:80`, { hashKey: i % 2 === 0 ? 'k' : undefined }),
    );
    const members = update(Members.none, singleLocality(...list));
    for (const [i, endpoint] of list.entries()) {
      const found = members.find({ ...endpoint }, i + 1, true);
      expect(members.endpoints[found ?? -1]).toBe(endpoint);
    }
    expect(members.find(makeEndpoint('127.0.0.50:80'), 0, true)).toBeUndefined();
  });

  it('have few numbers when most are gone', () => {
    const list = Array.from({ length: 100 }, (_, i) => makeEndpoint(`127.0.0.${i}:80`));
    const many = update(Members.none, singleLocality(...list));
    expect(update(many, singleLocality(...list.slice(90))).endpoints).toHaveLength(10);
    expect(update(many, singleLocality(...list.slice(50))).endpoints).toHaveLength(100);
  });

  it('may come from more localities than a function has arguments', () => {
    const localities = Array.from({ length: 200_000 }, (_, i) =>
      makeLocality(`l${i}`, [makeEndpoint(`127.${i >> 16}.${(i >> 8) & 255}.${i & 255}:80`)]),
    );
    expect(update(Members.none, { localities, children: undefined }).size).toBe(200_000);
  });
});
