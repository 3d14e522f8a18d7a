import {
  FULL_WEIGHT,
  type ScaledWeights,
  scaleWeights,
  StrideScheduler,
} from '../../../src/lb/weighted-round-robin/stride-scheduler';
import { seededRandom } from '../../support/seeded-random';

function scale(...weights: number[]): ScaledWeights {
  return scaleWeights(Float64Array.from(weights));
}

function createScheduler(scaled: ScaledWeights, seed = 1): StrideScheduler {
  const scheduler = new StrideScheduler(seededRandom(seed));
  for (let i = 0; i < scaled.weights.length; i++) scheduler.add();
  scheduler.setWeights(scaled);
  scheduler.shuffle();
  return scheduler;
}

/** How often each item is chosen. */
function tally(scheduler: StrideScheduler, picks: number): number[] {
  const counts = Array.from({ length: scheduler.size }, () => 0);
  for (let i = 0; i < picks; i++) {
    const index = scheduler.next();
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

describe('StrideScheduler', () => {
  it.each([
    ['of two that differ', [1, 3]],
    ['of one that is not known', [0, 1, 3]],
    ['at both limits', [1e9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],
    ['that are fractions', [0.1, 0.25, 0.7, 1.3]],
  ])('chooses in exact proportion to weights %s in a cycle', (_, weights) => {
    const scaled = scale(...weights);
    for (const seed of [1, 2, 3]) {
      const scheduler = createScheduler(scaled, seed);
      expect(tally(scheduler, sum(scaled.weights))).toEqual([...scaled.weights]);
    }
  });

  it('gives every item its exact share of the rounds at any time', () => {
    const scaled = scale(...Array.from({ length: 50 }, (_, i) => 1 + i));
    const scheduler = createScheduler(scaled);
    const counts = Array.from(scaled.weights, () => 0);
    for (let picks = 1; picks <= 20_000; picks++) {
      const index = scheduler.next();
      counts[index] = (counts[index] ?? 0) + 1;
      // The last one is chosen in every round. The round under way may, or may not, count for an item.
      const rounds = counts.at(-1) ?? 0;
      const share = (rounds * (scaled.weights[index] ?? 0)) / FULL_WEIGHT;
      if (Math.abs((counts[index] ?? 0) - share) >= 2)
        throw new Error(`${index} is off at ${picks}`);
    }
    expect(sum(counts)).toBe(20_000);
  });

  it('takes items of the same weight in turn', () => {
    const scheduler = createScheduler(scale(7, 7, 7));
    const first = Array.from({ length: 3 }, () => scheduler.next());
    expect([...first].sort()).toEqual([0, 1, 2]);
    for (let i = 0; i < 300; i++) expect(scheduler.next()).toBe(first[i % 3]);
  });

  it('spreads the turns of a heavy item', () => {
    const scheduler = createScheduler(scale(3, 1, 1, 1));
    const chosen = Array.from({ length: 600 }, () => scheduler.next());
    const gaps = chosen.flatMap((item, i) => (item === 0 ? [i] : []));
    const longest = Math.max(...gaps.slice(1).map((at, i) => at - (gaps[i] ?? 0)));
    expect(longest).toBeLessThanOrEqual(4);
  });

  it('begins with any of its items', () => {
    const scaled = scale(1, 2, 3, 4);
    const starts = new Map<number, number>();
    const runs = 4000;
    for (let seed = 0; seed < runs; seed++) {
      const first = createScheduler(scaled, seed).next();
      starts.set(first, (starts.get(first) ?? 0) + 1);
    }
    // A light item is often passed over for the next, so the shares are not quite those of the weights.
    for (let i = 0; i < 4; i++) expect(starts.get(i) ?? 0).toBeGreaterThan(runs * 0.05);
    expect(starts.get(3) ?? 0).toBeGreaterThan(2 * (starts.get(0) ?? 0));
  });

  it('continues at its position when weights change', () => {
    const scheduler = createScheduler(scale(1, 1, 1, 1));
    const before = scheduler.next();
    scheduler.setWeights(scale(2, 2, 2, 2));
    expect(scheduler.next()).toBe((before + 1) % 4);
  });

  it('keeps the proportions while weights are set again and again', () => {
    const scaled = scale(1, 2, 5);
    const scheduler = createScheduler(scaled);
    const counts = [0, 0, 0];
    // Far fewer choices between two settings than there are items.
    for (let i = 0; i < 8000; i++) {
      scheduler.setWeights(scaled);
      const index = scheduler.next();
      counts[index] = (counts[index] ?? 0) + 1;
    }
    counts.forEach((count, i) => {
      const share = (8000 * ([1, 2, 5][i] ?? 0)) / 8;
      expect(Math.abs(count - share)).toBeLessThanOrEqual(2);
    });
  });

  it('gives a new item average weight', () => {
    const scheduler = createScheduler(scale(1, 3));
    scheduler.add();
    const counts = tally(scheduler, 6000);
    expect(Math.abs((counts[2] ?? 0) - 2000)).toBeLessThanOrEqual(2);
  });

  it('puts the last item in the place of one that is removed', () => {
    const scaled = scale(1, 2, 4);
    const scheduler = createScheduler(scaled);
    scheduler.remove(0);
    expect(scheduler.size).toBe(2);
    const [first = 0, second = 0] = tally(scheduler, 6000);
    expect(Math.abs(first - 4000)).toBeLessThanOrEqual(2);
    expect(Math.abs(second - 2000)).toBeLessThanOrEqual(2);
  });

  it('has nothing to choose once all items are removed', () => {
    const scheduler = createScheduler(scale(1, 2));
    scheduler.remove(1);
    expect(scheduler.next()).toBe(0);
    scheduler.remove(0);
    expect(scheduler.next()).toBe(-1);
    scheduler.add();
    expect(scheduler.next()).toBe(0);
  });

  it('finds the next item fast, whatever the weights', () => {
    const weights = Array.from({ length: 10_000 }, (_, i) => (i === 0 ? 1e12 : 1));
    const scaled = scale(...weights);
    // Steps per choice are rounds per cycle times items by choices per cycle.
    const steps = (FULL_WEIGHT * weights.length) / sum(scaled.weights);
    expect(steps).toBeLessThan(110);
  });
});
