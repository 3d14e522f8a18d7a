import type { XxHash64 } from '../../../src/util/hashes';
import { endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { BuiltTable } from './built-table';
import {
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';
import { createReadyHash } from '../../support/ready-hash';
import { seededRandom } from '../../support/seeded-random';

const LIMITS = { min: 1024, max: 4096 };

let hash: XxHash64;
let hashed = 0;
beforeAll(async () => {
  hash = await createReadyHash();
});

function createRing(usesHashKeys = true): BuiltTable {
  const counting = {
    hash: (text: string) => {
      hashed++;
      return hash.hash(text);
    },
  };
  return new BuiltTable(counting, { usesHashKeys });
}

function address(i: number): string {
  return `127.1.${(i >> 8) & 255}.${i & 255}:80`;
}

function makeEndpoints(count: number): XdsEndpoint[] {
  return Array.from({ length: count }, (_, i) => makeEndpoint(address(i)));
}

function build(set: EndpointSet, limits = LIMITS): BuiltTable {
  const built = createRing();
  built.update(set, limits);
  return built;
}

/** Where 2,000 calls with hashes all round the ring go. */
function placesOfCalls(built: BuiltTable): (string | undefined)[] {
  const owners = built.keys;
  return Array.from({ length: 2000 }, (_, i) => owners[built.table.find(hash.hash(`call ${i}`))]);
}

function countMoved(a: BuiltTable, b: BuiltTable): number {
  const after = placesOfCalls(b);
  return placesOfCalls(a).filter((place, i) => place !== after[i]).length;
}

describe('the ring of some endpoints', () => {
  it('has the entries of gRFC A42', () => {
    const built = build(singleLocality('127.0.0.1:80', '127.0.0.2:80'), { min: 6, max: 6 });
    const expected = ['127.0.0.1:80', '127.0.0.2:80']
      .flatMap((key) => [0, 1, 2].map((n) => ({ key, at: hash.hash(`${key}_${n}`) })))
      .sort((a, b) => (a.at < b.at ? -1 : 1));
    expect(built.keys).toEqual(expected.map(({ key }) => key));
    expect(expected.map(({ at }) => built.table.find(at))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(expected.map(({ at }) => built.table.find(at + 1n))).toEqual([1, 2, 3, 4, 5, 0]);
  });

  it.each([
    [1, 1024],
    [10, 1030],
    [1000, 2000],
    [1024, 1024],
    [1025, 1025],
    [4096, 4096],
    [10_000, 4096],
  ])('has for %s endpoints %s entries', (count, size) => {
    expect(build(singleLocality(...makeEndpoints(count))).table.size).toBe(size);
  });

  it('does not depend on the order of the endpoints', () => {
    const endpoints = makeEndpoints(5000);
    const reversed = [...endpoints].reverse();
    expect(build(singleLocality(...reversed)).keys).toEqual(
      build(singleLocality(...endpoints)).keys,
    );
  });

  it('weighs locality and endpoint', () => {
    const light = makeLocality('light', ['127.0.0.1:80'], 1);
    const heavy = makeLocality(
      'heavy',
      [makeEndpoint('127.0.0.2:80', { weight: 1 }), makeEndpoint('127.0.0.3:80', { weight: 3 })],
      4,
    );
    const built = build(makeEndpointSet(light, heavy), { min: 10, max: 100 });
    const count = (key: string) => built.keys.filter((other) => other === key).length;
    // 2, 2 and 6 of 10, but for the rounding of gRFC A113, which makes the lightest a little less than a fifth.
    expect([1, 2, 3].map((i) => count(`127.0.0.${i}:80`))).toEqual([2, 2, 7]);
  });

  it('gives an endpoint that is listed twice both weights', () => {
    const twice = makeEndpointSet(
      makeLocality('x', ['127.0.0.1:80', '127.0.0.2:80']),
      makeLocality('y', ['127.0.0.2:80', '127.0.0.3:80']),
    );
    const built = build(twice, { min: 4, max: 4 });
    expect([...built.keys].sort()).toEqual([1, 2, 2, 3].map((i) => `127.0.0.${i}:80`));
  });

  it('picks the same of two endpoints with one hash key, in any order', () => {
    const a = makeEndpoint('127.0.0.1:80', { hashKey: 'k' });
    const b = makeEndpoint('127.0.0.2:80', { hashKey: 'k' });
    const at = hash.hash('k_0');
    for (const set of [singleLocality(a, b), singleLocality(b, a)]) {
      const built = build(set, { min: 2, max: 2 });
      expect(built.keys[built.table.find(at)]).toBe('127.0.0.1:80');
    }
  });

  it('does not use hash keys if they are disabled', () => {
    const built = createRing(false);
    built.update(singleLocality(makeEndpoint('127.0.0.1:80', { hashKey: 'k' })), {
      min: 1,
      max: 1,
    });
    hashed = 0;
    const others = ['a', 'b'].map((hashKey) => makeEndpoint('127.0.0.1:80', { hashKey }));
    for (const other of others) built.update(singleLocality(other), { min: 1, max: 1 });
    expect(hashed).toBe(0);
  });
});

/** One endpoint of a table: what it is placed by, and its weight as balanced. */
interface Row {
  readonly address: string;
  readonly hashKey?: string;
  readonly weight: number;
}

interface ExpectedEntry {
  readonly at: bigint;
  readonly address: string;
}

/** The ring as grpc-go builds it, written down a second time: sorted rows, running sums, one list of entries. */
function expectedRing(rows: readonly Row[], min: number, max: number): readonly ExpectedEntry[] {
  const place = ({ address: own, hashKey }: Row): string => hashKey ?? own;
  const bytes = (text: string) => Buffer.from(text);
  const sorted = [...rows].sort((a, b) => Buffer.compare(bytes(place(a)), bytes(place(b))));
  const own = sorted.reduce((total, { weight }) => total + weight, 0);
  // gRFC A113, of the only locality.
  const weights = sorted.map(({ weight }) => Math.floor((weight * 2 ** 31) / own));
  const total = weights.reduce((a, b) => a + b, 0);
  const least = Math.min(...weights) / total;
  const scale = Math.min(Math.ceil(least * min) / least, max);
  const entries: ExpectedEntry[] = [];
  let target = 0;
  for (const [i, row] of sorted.entries()) {
    target += scale * ((weights[i] ?? 0) / total);
    for (let n = 0; entries.length < target; n++) {
      entries.push({ at: hash.hash(`${place(row)}_${n}`), address: row.address });
    }
  }
  return entries.sort((a, b) => (a.at < b.at ? -1 : 1));
}

describe('the entries of a ring', () => {
  const uniform = (count: number): Row[] =>
    Array.from({ length: count }, (_, i) => ({ address: address(i), weight: 1 }));
  const mixed = (count: number): Row[] =>
    uniform(count).map((row, i) => ({
      ...row,
      weight: 1 + ((i * 7) % 13),
      ...(i % 3 === 0 ? { hashKey: `pod-${(i * 31) % 1009}` } : {}),
    }));

  it.each<[string, Row[], number, number]>([
    ['one endpoint', uniform(1), 1024, 4096],
    ['ten endpoints', uniform(10), 1024, 4096],
    ['a prime number of them', uniform(997), 1024, 4096],
    ['as many as entries', uniform(4096), 1024, 4096],
    ['more than entries', uniform(5000), 1024, 4096],
    ['more than entries, of different weights', mixed(3000), 1024, 2000],
    ['different weights and hash keys', mixed(100), 1024, 4096],
    ['weights that the maximum cuts off', mixed(50), 64, 64],
    [
      'hash keys beyond ASCII, ordered by bytes',
      ['\u{1f600}', '\ufb01', 'é', 'z', 'Z'].map((hashKey, i) => ({
        address: address(i),
        hashKey,
        weight: 1,
      })),
      2,
      3,
    ],
  ])('are those of the algorithm of gRFC A42: %s', (_case, rows, min, max) => {
    const endpoints = rows.map(({ address: own, hashKey, weight }) =>
      makeEndpoint(own, { hashKey, weight }),
    );
    for (const list of [endpoints, [...endpoints].reverse()]) {
      const built = build(singleLocality(...list), { min, max });
      const expected = expectedRing(rows, min, max);
      expect(built.keys).toEqual(expected.map((entry) => entry.address));
      const hashes = expected.map(({ at }) => at);
      const found = hashes.map((at) => built.table.find(at));
      expect(found.map((position) => hashes[position])).toEqual(hashes);
    }
  });
});

describe('an update of the ring', () => {
  it('leaves the ring alone when nothing changed', () => {
    const built = createRing();
    const endpoints = makeEndpoints(50);
    built.update(singleLocality(...endpoints), LIMITS);
    const { table, keys } = built;
    built.update(singleLocality(...endpoints), LIMITS);
    expect(built.table).toBe(table);
    hashed = 0;
    built.update(singleLocality(...[...endpoints].reverse()), LIMITS);
    built.update(singleLocality(...makeEndpoints(50)), LIMITS);
    expect(built.keys).toEqual(keys);
    expect(hashed).toBe(0);
  });

  it.each([100, 1000, 4000])('hashes only what is new, one endpoint of %s', (count) => {
    const built = createRing();
    const endpoints = makeEndpoints(count);
    built.update(singleLocality(...endpoints), LIMITS);
    hashed = 0;
    built.update(singleLocality(...endpoints.slice(1), makeEndpoint('127.9.9.9:80')), LIMITS);
    // Its entries, and the few that others gain or lose.
    expect(hashed).toBeLessThanOrEqual(Math.ceil(1024 / count) + 3);
  });

  it.each([
    [10, 'leaves'],
    [100, 'leaves'],
    [1000, 'leaves'],
    [10, 'joins'],
    [100, 'joins'],
    [1000, 'joins'],
  ])('moves one in %s calls when one of as many endpoints %s', (count, event) => {
    const endpoints = makeEndpoints(count);
    const more = build(singleLocality(...endpoints));
    let moved = 0;
    for (let gone = 0; gone < 10; gone++) {
      const fewer = build(singleLocality(...endpoints.filter((_, i) => i !== gone)));
      moved += event === 'leaves' ? countMoved(more, fewer) : countMoved(fewer, more);
    }
    // Among few endpoints, each of the others has to get entries for the ring to be big enough: that is as much again.
    expect(moved / 20_000).toBeLessThan((count === 10 ? 2.2 : 1.2) / count);
    expect(moved).toBeGreaterThan(0);
  });

  it('moves an endpoint whose hash key changes, and only that', () => {
    const built = createRing();
    const [first, ...others] = makeEndpoints(4);
    const changed = { ...makeEndpoint(address(0)), hashKey: 'pod-1' };
    expect(first).toBeDefined();
    built.update(singleLocality(...makeEndpoints(4)), { min: 4, max: 4 });
    hashed = 0;
    built.update(singleLocality(changed, ...others), { min: 4, max: 4 });
    expect(hashed).toBe(1);
    const { table } = built;
    expect(built.endpoints[table.find(hash.hash('pod-1_0'))]).toBe(changed);
    expect(table.size).toBe(4);
    expect(built.keys).toEqual(build(singleLocality(changed, ...others), { min: 4, max: 4 }).keys);
  });

  it('builds the same ring in any way', () => {
    const random = seededRandom(11);
    const built = createRing();
    let pool = makeEndpoints(60);
    for (let round = 0; round < 300; round++) {
      const kind = random();
      const i = Math.floor(random() * pool.length);
      const weight = 1 + Math.floor(random() * 5);
      if (kind < 0.3) pool = pool.filter((_, k) => k !== i);
      else if (kind < 0.6) pool = [...pool, makeEndpoint(address(1000 + round), { weight })];
      else if (kind < 0.8) {
        const hashKey = random() < 0.5 ? `key ${Math.floor(random() * 500)}` : undefined;
        pool = pool.map((e, k) => (k === i ? { ...e, hashKey } : e));
      } else if (kind < 0.9) pool = pool.map((e, k) => (k === i ? { ...e, weight } : e));
      else pool = [...pool].sort(() => random() - 0.5);
      const middle = Math.floor(pool.length / 2);
      const set = makeEndpointSet(
        makeLocality('x', pool.slice(0, middle), 1),
        makeLocality('y', pool.slice(middle), 2),
      );
      const limits = { min: 50 + Math.floor(random() * 3) * 20, max: 150 };
      built.update(set, limits);
      const fresh = build(set, limits);
      expect(built.keys).toEqual(fresh.keys);
      expect(placesOfCalls(built)).toEqual(placesOfCalls(fresh));
      // Calls with the hashes of entries, all bits of which count.
      const entries = pool.flatMap((e) => [0, 1].map((n) => `${e.hashKey ?? endpointKey(e)}_${n}`));
      const positions = ({ table }: BuiltTable) =>
        entries.map((each) => table.find(hash.hash(each)));
      expect(positions(built)).toEqual(positions(fresh));
      expect(built.table.members.size).toBe(new Set(pool.map((e) => e.addresses[0])).size);
    }
  });

  it('builds the same ring when few of many endpoints are replaced repeatedly', () => {
    const random = seededRandom(12);
    const built = createRing();
    const pool = makeEndpoints(600);
    const limits = { min: 200, max: 400 };
    for (let round = 0; round < 60; round++) {
      for (let count = Math.floor(random() * 3); count >= 0; count--) {
        const i = Math.floor(random() * pool.length);
        const next = random() < 0.5 ? 10_000 + round * 3 + count : Math.floor(random() * 600);
        pool[i] = makeEndpoint(address(next));
      }
      const set = singleLocality(...pool);
      built.update(set, limits);
      const fresh = build(set, limits);
      expect(built.keys.join()).toBe(fresh.keys.join());
    }
  });

  it('hashes an endpoint once, however often its entry goes to another and comes back', () => {
    const hashed: string[] = [];
    const counting = {
      hash: (text: string) => {
        hashed.push(text);
        return hash.hash(text);
      },
    };
    const built = new BuiltTable(counting);
    const pool = makeEndpoints(600);
    const limits = { min: 200, max: 400 };
    for (let round = 0; round < 20; round++) {
      built.update(singleLocality(...pool.slice(round % 2)), limits);
    }
    expect(built.table.size).toBe(400);
    expect(hashed.length).toBeGreaterThan(500);
    expect(new Set(hashed).size).toBeGreaterThan(hashed.length - 20);
  });

  it('builds the same ring when there are many more endpoints than entries, and hashes each once', () => {
    const built = createRing();
    const random = seededRandom(14);
    const pool = makeEndpoints(900);
    const limits = { min: 20, max: 60 };
    hashed = 0;
    for (let round = 0; round < 120; round++) {
      pool[Math.floor(random() * 900)] = makeEndpoint(address(1000 + round));
      const set = singleLocality(...pool.slice(round % 3));
      built.update(set, limits);
      const before = hashed;
      const fresh = build(set, limits);
      expect(built.keys.join()).toBe(fresh.keys.join());
      hashed = before;
    }
    expect(hashed).toBeLessThan(900 + 120);
  });

  it('becomes empty', () => {
    const built = createRing();
    built.update(singleLocality(...makeEndpoints(5)), LIMITS);
    built.update(singleLocality(), LIMITS);
    expect(built.table.members.size).toBe(0);
    expect(built.table.size).toBe(0);
    built.update(singleLocality(...makeEndpoints(3)), { min: 3, max: 3 });
    expect(built.table.size).toBe(3);
  });
});
