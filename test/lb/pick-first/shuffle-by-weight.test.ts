import { shuffleByWeight as shuffleInSteps } from '../../../src/lb/pick-first/balancer';
import type { Random } from '../../../src/util/random';

/** A generator of a fixed sequence that is random enough to count with. */
function createRandom(): Random {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function shuffleByWeight<T extends { readonly weight: number }>(
  list: readonly T[],
  random: Random,
  count?: number,
): readonly (T | undefined)[] {
  const weights = list.map(({ weight }) => weight);
  return shuffleInSteps(weights, random, count).map((index) => list[index]);
}

function shareOfFirst(weights: readonly number[], rounds = 20_000): number[] {
  const random = createRandom();
  const list = weights.map((weight, index) => ({ weight, index }));
  const counts = weights.map(() => 0);
  for (let i = 0; i < rounds; i++) {
    const first = shuffleByWeight(list, random)[0]?.index ?? -1;
    counts[first] = (counts[first] ?? 0) + 1;
  }
  return counts.map((count) => Math.round((count / rounds) * 100));
}

describe('shuffleByWeight', () => {
  it('shuffles a list of two', () => {
    const [first, second] = shareOfFirst([1, 1]);
    expect(first).toBeGreaterThan(47);
    expect(second).toBeGreaterThan(47);
  });

  it('puts each first in proportion to its weight', () => {
    const [one, two, seven] = shareOfFirst([1, 2, 7]);
    expect(one).toBeGreaterThanOrEqual(9);
    expect(one).toBeLessThanOrEqual(11);
    expect(two).toBeGreaterThanOrEqual(18);
    expect(two).toBeLessThanOrEqual(22);
    expect(seven).toBeGreaterThanOrEqual(68);
    expect(seven).toBeLessThanOrEqual(72);
  });

  it('distinguishes great weights', () => {
    const [first, second] = shareOfFirst([1_000_000_000, 3_000_000_000]);
    expect(first).toBeGreaterThanOrEqual(23);
    expect(second).toBeGreaterThanOrEqual(73);
  });

  it('keeps every element, and the list it was given', () => {
    const list = [1, 2, 3, 4].map((weight) => ({ weight }));
    const copy = [...list];
    const shuffled = shuffleByWeight(list, createRandom());
    expect(list).toEqual(copy);
    expect(new Set(shuffled)).toEqual(new Set(list));
  });

  it('returns the first of the order, if a number of them is requested', () => {
    const list = Array.from({ length: 50 }, (_, i) => ({ weight: 1 + (i % 5) }));
    const whole = shuffleByWeight(list, createRandom());
    for (const count of [1, 7, 49, 50, 51]) {
      expect(shuffleByWeight(list, createRandom(), count)).toEqual(whole.slice(0, count));
    }
    expect(shuffleByWeight(list, () => 0, 3)).toEqual(list.slice(0, 3));
  });

  it('takes a random number of 0', () => {
    const list = [{ weight: 1 }, { weight: 2 }];
    expect(shuffleByWeight(list, () => 0)).toEqual(list);
  });
});
