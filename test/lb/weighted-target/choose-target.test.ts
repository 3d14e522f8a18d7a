import { chooseTarget, cumulativeWeights } from '../../../src/lb/weighted-target/picker';

const MAX = 2 ** 32 - 1;

describe('cumulativeWeights', () => {
  it('adds up beyond 32 bits', () => {
    expect(cumulativeWeights([MAX, MAX, 1])).toEqual([MAX, 2 * MAX, 2 * MAX + 1]);
  });
});

describe('chooseTarget', () => {
  const small = cumulativeWeights([1, 2, 3]);
  const great = cumulativeWeights([MAX, MAX, MAX]);

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
  ])('in %j, the point %d belongs to %i', (cumulative, point, expected) => {
    expect(chooseTarget(cumulative, point)).toBe(expected);
  });

  it('gives every target its share', () => {
    const counts = [0, 0, 0];
    for (let i = 0; i < 600; i++) {
      const index = chooseTarget(small, (i / 600) * 6);
      counts[index] = (counts[index] ?? 0) + 1;
    }
    expect(counts).toEqual([100, 200, 300]);
  });
});
