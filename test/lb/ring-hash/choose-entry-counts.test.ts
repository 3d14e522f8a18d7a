import {
  chooseCountChanges,
  chooseEntryCounts,
} from '../../../src/lb/ring-hash/choose-entry-counts';
import type { Random } from '../../../src/util/random';
import { seededRandom } from '../../support/seeded-random';

function draw(random: Random): number {
  return (Math.floor(random() * 2 ** 32) + 0.5) / 2 ** 32;
}

function owners(weights: readonly number[], random = seededRandom(1)) {
  return {
    weights: Float64Array.from(weights),
    draws: Float64Array.from(weights, () => draw(random)),
  };
}

function counts(weights: readonly number[], min: number, max: number): number[] {
  return [...chooseEntryCounts(owners(weights), { min, max }).counts];
}

function sum(list: Iterable<number>): number {
  let total = 0;
  for (const value of list) total += value;
  return total;
}

describe('the number of entries of an owner', () => {
  it.each([
    ['one owner', [5], 1024, 4096, [1024]],
    ['whole shares', [3, 3, 4], 10, 20, [3, 3, 4]],
    ['a minimum that is no multiple', [1, 1, 1], 4, 20, [2, 2, 2]],
    ['a heavy owner', [1, 9], 8, 20, [1, 9]],
    ['a minimum of 1', [1, 1, 1, 1], 1, 20, [1, 1, 1, 1]],
    ['empty slots', [0, 2, 0, 2], 4, 20, [0, 2, 0, 2]],
    ['no owners', [0, 0], 4, 20, [0, 0]],
    ['no slots', [], 4, 20, []],
    ['rounded thirds', [715_827_882, 715_827_882, 715_827_882], 3, 20, [1, 1, 1]],
    ['rounded tenths', [644_245_094, 644_245_094, 858_993_459], 10, 20, [3, 3, 4]],
  ])('is its share of the ring: %s', (_case, weights, min, max, expected) => {
    expect(counts(weights, min, max)).toEqual(expected);
  });

  it('is in proportion to the weight within the maximum', () => {
    const result = counts([1, 1000, 2000], 1024, 4096);
    expect(sum(result)).toBe(3001);
    expect(result).toEqual([1, 1000, 2000]);
    expect(sum(counts([1, 1000, 9000], 1024, 4096))).toBe(4096);
  });

  it('adds up to the exact size, within one entry of each share', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = seededRandom(seed);
      const weights = Array.from({ length: 200 }, () => 1 + Math.floor(random() * 1000));
      const result = counts(weights, 1024, 4096);
      const size = sum(result);
      expect(size).toBe(4096);
      for (const [i, weight] of weights.entries()) {
        const share = (weight / sum(weights)) * size;
        expect(Math.abs((result[i] ?? 0) - share)).toBeLessThan(1.05);
      }
    }
  });

  it('is one or none where there are more owners than entries', () => {
    const result = counts(
      Array.from({ length: 10_000 }, () => 7),
      1024,
      4096,
    );
    expect(sum(result)).toBe(4096);
    expect(new Set(result)).toEqual(new Set([0, 1]));
  });

  it('goes by the draw, not by the slot', () => {
    const { weights, draws } = owners([1, 1, 1, 1, 1, 1, 1, 1]);
    const result = [...chooseEntryCounts({ weights, draws }, { min: 1, max: 3 }).counts];
    const first = [...draws.keys()].sort((a, b) => (draws[a] ?? 0) - (draws[b] ?? 0)).slice(0, 3);
    expect([...result.keys()].filter((slot) => result[slot] === 1)).toEqual(first.sort());
  });

  it('adds up even if all draws are the same', () => {
    const weights = Float64Array.from({ length: 100 }, () => 1);
    const draws = Float64Array.from({ length: 100 }, () => 0.25);
    const result = chooseEntryCounts({ weights, draws }, { min: 1, max: 40 });
    expect(sum(result.counts)).toBe(40);
    expect(result.threshold).toBeUndefined();
  });

  it.each([
    ['equal weights', () => 3],
    ['weights of all sizes', (random: Random) => 1 + Math.floor(random() * 100)],
  ])('changes for few others when an owner goes: %s', (_case, weightOf) => {
    const random = seededRandom(7);
    const { weights, draws } = owners(Array.from({ length: 9000 }, () => weightOf(random)));
    const before = chooseEntryCounts({ weights, draws }, { min: 1024, max: 4096 }).counts;
    let changed = 0;
    for (let slot = 0; slot < 100; slot++) {
      const without = weights.slice();
      without[slot] = 0;
      const limits = { min: 1024, max: 4096 };
      const after = chooseEntryCounts({ weights: without, draws }, limits).counts;
      changed += sum(
        after.map((count, i) => (i === slot ? 0 : Math.abs(count - (before[i] ?? 0)))),
      );
      expect(sum(after)).toBe(4096);
    }
    // As many as the owner had: 4096 / 9000 of an entry on average.
    expect(changed / 100).toBeLessThan(0.8);
  });
});

describe('a change of some owners among many', () => {
  const LIMITS = { min: 100, max: 450 };

  it('comes to what all of them come to, or to nothing', () => {
    const random = seededRandom(9);
    const { weights, draws } = owners(
      Array.from({ length: 1000 }, () => 3),
      random,
    );
    let quick = 0;
    for (let round = 0; round < 100; round++) {
      const before = chooseEntryCounts({ weights, draws }, LIMITS);
      // One leaves its slot, another one comes in an empty one or in that very slot.
      const slots = [0, 1].map(() => Math.floor(random() * 1000));
      for (const slot of slots) draws[slot] = draw(random);
      const changes = chooseCountChanges(before, [...new Set(slots)], { weights, draws }, LIMITS);
      const after = chooseEntryCounts({ weights, draws }, LIMITS);
      if (changes === undefined) continue;
      quick++;
      for (const { slot, before: had, count } of changes) {
        expect(had).toBe(before.counts[slot]);
        before.counts[slot] = count;
      }
      expect(before.counts.join()).toBe(after.counts.join());
    }
    // Either both had an entry before and after, or neither.
    expect(quick).toBeGreaterThan(25);
    expect(quick).toBeLessThan(100);
  });

  it.each([
    ['the ring is of another size', [1, 1, 1, 1, 0], [1, 1, 1, 1, 1], { min: 4, max: 100 }],
    ['there are more slots', [1, 1, 1, 1], [1, 1, 1, 1, 0], { min: 4, max: 100 }],
    ['there was no ring', [0, 0, 0, 0], [1, 0, 0, 0], { min: 4, max: 100 }],
  ])('is left to a choice for all if %s', (_case, before, after, limits) => {
    const counts = chooseEntryCounts(owners(before), limits);
    expect(chooseCountChanges(counts, [4], owners(after), limits)).toBeUndefined();
  });
});
