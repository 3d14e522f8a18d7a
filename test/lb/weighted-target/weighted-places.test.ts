import { WeightedPlaces } from '../../../src/lb/weighted-target/weighted-places';
import { seededRandom } from '../../support/seeded-random';

const MAX = 2 ** 32 - 1;

function placesOf(weights: readonly number[]): WeightedPlaces {
  const places = new WeightedPlaces();
  for (const [place, weight] of weights.entries()) places.add(place, weight);
  return places;
}

/** The first place such that the weights up to it exceed the point. */
function search(weights: readonly number[], point: number): number {
  let sum = 0;
  return weights.findIndex((weight) => (sum += weight) > point);
}

describe('WeightedPlaces', () => {
  const small = [1, 2, 3];
  const great = [MAX, MAX, MAX];

  it.each([
    [small, 0, 0],
    [small, 0.99, 0],
    [small, 1, 1],
    [small, 2.99, 1],
    [small, 3, 2],
    [small, 5.99, 2],
    [great, MAX - 1, 0],
    [great, MAX, 1],
    [great, 2 * MAX, 2],
    [great, 3 * MAX - 1, 2],
    [[7], 6, 0],
    [[0, 0, 1], 0, 2],
    [[1, 0, 0, 0, 0, 1], 1, 5],
  ])('in %j, the point %d belongs to %i', (weights, point, expected) => {
    expect(placesOf(weights).choose(point)).toBe(expected);
  });

  it('adds up beyond 32 bits', () => {
    expect(placesOf([MAX, MAX, 1]).total).toBe(2 * MAX + 1);
  });

  it('chooses as a search from the first place does, whatever was added and taken away', () => {
    const random = seededRandom(1);
    const below = (end: number) => Math.floor(random() * end);
    const weights: number[] = [];
    const places = new WeightedPlaces();
    for (let i = 0; i < 2000; i++) {
      const place = below(70);
      while (weights.length <= place) weights.push(0);
      const weight = below(3) === 0 ? 0 : below(10);
      places.add(place, weight - (weights[place] ?? 0));
      weights[place] = weight;
      if (places.total === 0) continue;
      const point = random() * places.total;
      expect(places.choose(point)).toBe(search(weights, point));
    }
  });
});
