import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { combinedWeigher } from '../../../src/lb/endpoints/endpoint-weights';
import { maglevKind } from '../../../src/lb/maglev/balancer';
import { MaglevTable } from '../../../src/lb/maglev/table';
import { Members, MembersListing, ringKeyOf } from '../../../src/lb/ring-hash/members';
import type { HashTable } from '../../../src/lb/ring-hash/ring';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import type { XxHash64 } from '../../../src/util/hashes';
import {
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';
import { BuiltTable } from '../ring-hash/built-table';
import { createReadyHash } from '../../support/ready-hash';
import { seededRandom } from '../../support/seeded-random';

let hash: XxHash64;
beforeAll(async () => {
  hash = await createReadyHash();
});

/** Tables that follow from each other by updates. */
class Tables {
  private readonly built = new BuiltTable(hash, {
    empty: MaglevTable.empty,
    weigher: maglevKind.weigher,
  });

  update(set: EndpointSet, size: number): this {
    this.built.update(set, { min: size, max: size });
    return this;
  }

  get table(): HashTable {
    return this.built.table;
  }

  /** The key of the endpoint of each entry. */
  get keys(): readonly string[] {
    return this.built.endpoints.map((endpoint) => ringKeyOf(endpoint, true));
  }

  count(address: string): number {
    return this.keys.filter((key) => key === address).length;
  }
}

/**
 * Envoy's algorithm once more, step by step: every endpoint is asked in every round, and the permutation is computed anew with
 * whole numbers of any size.
 */
function plainTable(set: EndpointSet, size: number): readonly string[] {
  const localitySum = set.localities.reduce((sum, { weight }) => sum + weight, 0);
  const hosts = set.localities.flatMap(({ weight: localityWeight, endpoints }) => {
    const sum = endpoints.reduce((all, { weight }) => all + weight, 0);
    return endpoints.map((endpoint) => {
      const key = ringKeyOf(endpoint, true);
      const weight = (endpoint.weight * (localityWeight / localitySum)) / sum;
      const offset = hash.hash(key, 0n) % BigInt(size);
      const skip = (hash.hash(key, 1n) % BigInt(size - 1)) + 1n;
      return { key, weight, offset, skip, next: 0n, target: 0 };
    });
  });
  hosts.sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  const greatest = Math.max(...hosts.map(({ weight }) => weight));
  const table: (string | undefined)[] = new Array<undefined>(size).fill(undefined);
  const permutation = ({ offset, skip, next }: (typeof hosts)[number]) =>
    Number((offset + skip * next) % BigInt(size));
  let filled = 0;
  for (let iteration = 1; filled < size; iteration++) {
    for (const host of hosts) {
      if (filled === size) break;
      if (iteration * host.weight < host.target) continue;
      host.target += greatest;
      while (table[permutation(host)] !== undefined) host.next++;
      table[permutation(host)] = host.key;
      host.next++;
      filled++;
    }
  }
  return table.map((key) => key ?? '');
}

const PRIMES = [2, 3, 5, 7, 13, 101, 251, 1009, 2003];

function randomSet(random: () => number): EndpointSet {
  const upTo = (max: number) => 1 + Math.floor(random() * max);
  let port = 0;
  const localities = Array.from({ length: upTo(3) }, (_, i) =>
    makeLocality(
      `r${i}`,
      Array.from({ length: upTo(12) }, () => {
        const hashKey = random() < 0.3 ? `key-${upTo(1e9)}-é` : undefined;
        const weight = random() < 0.5 ? upTo(4) : upTo(1000);
        return makeEndpoint(`10.0.${i}.${upTo(250)}:${++port}`, { weight, hashKey });
      }),
      upTo(10),
    ),
  );
  return makeEndpointSet(...localities);
}

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.1.${i >> 8}.${i & 255}:80`);
}

describe('the table of Maglev', () => {
  it('is that of Envoy for random endpoints, weights and sizes', () => {
    const random = seededRandom(7);
    for (let round = 0; round < 300; round++) {
      const set = randomSet(random);
      const size = PRIMES[Math.floor(random() * PRIMES.length)] ?? 2;
      expect(new Tables().update(set, size).keys).toEqual(plainTable(set, size));
    }
  });

  it('is that of Envoy with the default size', () => {
    const set = singleLocality(
      ...addresses(50).map((address, i) => makeEndpoint(address, { weight: 1 + (i % 5) })),
    );
    expect(new Tables().update(set, 65_537).keys).toEqual(plainTable(set, 65_537));
  });

  it('has the same entries after updates as one that is new', () => {
    const random = seededRandom(11);
    const tables = new Tables();
    for (let round = 0; round < 50; round++) {
      const set = randomSet(random);
      expect(tables.update(set, 251).keys).toEqual(plainTable(set, 251));
    }
  });

  it('gives each endpoint its share by weight', () => {
    const [a, b, c] = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'] as const;
    const weighted = [a, b, c].map((address, i) => makeEndpoint(address, { weight: i + 1 }));
    const tables = new Tables().update(singleLocality(...weighted), 65_537);
    const counts = [a, b, c].map((address) => tables.count(address));
    for (const [i, count] of counts.entries()) {
      expect(Math.abs(count - (65_537 * (i + 1)) / 6)).toBeLessThan(3);
    }
  });

  it('moves few calls when one of 100 endpoints is removed', () => {
    const tables = new Tables().update(singleLocality(...addresses(100)), 65_537);
    const before = tables.keys;
    const [removed, ...rest] = addresses(100);
    const after = tables.update(singleLocality(...rest), 65_537).keys;
    const moved = before.filter((key, i) => key !== removed && key !== after[i]).length;
    expect(after).not.toContain(removed);
    // Besides the hundredth that has to move.
    expect(moved / before.length).toBeLessThan(0.02);
  });

  it('is the same while neither members nor weights nor the size change', () => {
    const set = () => singleLocality('10.0.0.1:80', '10.0.0.2:80');
    const tables = new Tables().update(set(), 13);
    const { table } = tables;
    const { keys } = tables;
    expect(tables.update(set(), 13).keys).toEqual(keys);
    const heavier = makeEndpoint('10.0.0.1:80', { weight: 2 });
    expect(tables.update(singleLocality(heavier, '10.0.0.2:80'), 13).table).not.toBe(table);
    expect(tables.update(set(), 17).table.size).toBe(17);
    expect(tables.update(singleLocality(), 17).table.size).toBe(0);
  });

  it('leaves out endpoints beyond its size', () => {
    const tables = new Tables().update(singleLocality(...addresses(20)), 13);
    expect(tables.table.memberCount).toBe(13);
    const { members } = tables.table;
    expect(members.sorted.filter((member) => !tables.table.has(member))).toHaveLength(7);
  });

  it.each([
    ['the same hash key', (): Partial<XdsEndpoint> => ({ hashKey: 'same' })],
    ['weights that differ by a million', (i: number) => ({ weight: i === 0 ? 1_000_000 : 1 })],
  ])('is filled in a short time by 20,000 endpoints with %s', (_name, fieldsOf) => {
    const endpoints = addresses(20_000).map((address, i) => makeEndpoint(address, fieldsOf(i)));
    let steps = 0;
    const rules = { hash, usesHashKeys: true, weigher: maglevKind.weigher };
    const listing = new MembersListing(Members.none, singleLocality(...endpoints), rules);
    while (listing.advance());
    const limits = { min: 65_537, max: 65_537 };
    const work = MaglevTable.empty.update(listing.finish(), limits, rules);
    while (work.next().done !== true) steps++;
    // Asking each endpoint in each round, or trying what another one has taken, would take thousands.
    expect(steps).toBeLessThan(200);
  });

  it('finds a hash by its remainder, and goes on once at the end', () => {
    const { table } = new Tables().update(singleLocality(...addresses(5)), 101);
    expect(table.find(2n ** 64n - 1n)).toBe(Number((2n ** 64n - 1n) % 101n));
    expect(table.memberAt(103)).toBe(table.memberAt(2));
    expect(MaglevTable.empty.find(5n)).toBe(0);
    expect(MaglevTable.empty.memberAt(0)).toBe(-1);
  });

  it('weighs by doubles, where ring_hash has whole numbers', () => {
    const [locality] = singleLocality('10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80').localities;
    if (locality === undefined) throw new Error('No locality');
    const sums = { localities: 1, endpoints: new Map([[locality.locality, 3]]) };
    expect(maglevKind.weigher(locality, sums)(1)).toBe(1 / 3);
    expect(combinedWeigher(locality, sums)(1)).toBe(Math.floor(2 ** 31 / 3));
  });
});
