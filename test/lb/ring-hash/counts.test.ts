import { chooseEntryCounts } from '../../../src/lb/ring-hash/counts';
import { seededRandom } from '../../support/seeded-random';

function counts(weights: readonly number[], min: number, max: number): number[] {
  const chosen: number[] = [];
  const members = weights.map((weight) => ({ weight }));
  chooseEntryCounts(members, { min, max }, (member, count) => {
    expect(member).toBe(members[chosen.length]);
    chosen.push(count);
  });
  return chosen;
}

function sum(list: Iterable<number>): number {
  let total = 0;
  for (const value of list) total += value;
  return total;
}

/** The algorithm as grpc-go, C-core and Java write it: entry by entry. */
function countEntryByEntry(weights: readonly number[], min: number, max: number): number[] {
  const total = sum(weights);
  const normalized = weights.map((weight) => weight / total);
  const least = Math.min(1, ...normalized);
  const scale = Math.min(Math.ceil(least * min) / least, max);
  let currentHashes = 0;
  let targetHashes = 0;
  return normalized.map((weight) => {
    targetHashes += scale * weight;
    let count = 0;
    while (currentHashes < targetHashes) {
      count++;
      currentHashes++;
    }
    return count;
  });
}

describe('the number of entries of a member', () => {
  it.each([
    ['one member', [5], 1024, 4096, [1024]],
    ['whole shares', [3, 3, 4], 10, 20, [3, 3, 4]],
    ['the example of grpc-go', [3, 3, 4], 7, 20, [3, 3, 4]],
    ['a maximum that leaves no whole shares', [3, 3, 4], 5, 5, [2, 1, 2]],
    ['a minimum that is no multiple', [1, 1, 1], 4, 20, [2, 2, 2]],
    ['a heavy member', [1, 9], 8, 20, [1, 9]],
    ['a minimum of 1', [1, 1, 1, 1], 1, 20, [1, 1, 1, 1]],
    ['more members than entries', [1, 1, 1, 1, 1, 1, 1, 1], 1, 3, [1, 0, 1, 0, 0, 1, 0, 0]],
    ['no members', [], 4, 20, []],
    ['rounded thirds', [715_827_882, 715_827_882, 715_827_882], 3, 20, [1, 1, 1]],
    // Weights of gRFC A113 are rounded, so that the shares are a little more than 10 entries: others have 11, too.
    ['rounded tenths', [644_245_094, 644_245_094, 858_993_459], 10, 20, [3, 3, 5]],
  ])('follows the running sum of the shares: %s', (_case, weights, min, max, expected) => {
    expect(counts(weights, min, max)).toEqual(expected);
  });

  it('equals a count entry by entry', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seededRandom(seed);
      const length = 1 + Math.floor(random() * 300);
      const weights = Array.from({ length }, () => 1 + Math.floor(random() * 2 ** (seed % 31)));
      const min = 1 + Math.floor(random() * 1500);
      const max = min + Math.floor(random() * 3000);
      expect(counts(weights, min, max)).toEqual(countEntryByEntry(weights, min, max));
    }
  });
});
