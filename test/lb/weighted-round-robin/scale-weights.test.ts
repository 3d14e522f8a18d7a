import { FULL_WEIGHT, scaleWeights } from '../../../src/lb/weighted-round-robin/stride-scheduler';

function scale(...weights: number[]) {
  const { weights: scaled, mean } = scaleWeights(Float64Array.from(weights));
  return { scaled: [...scaled], mean };
}

const full = FULL_WEIGHT;

describe('scaleWeights', () => {
  it.each([
    ['nothing', [], []],
    ['one weight', [5], [full]],
    ['one weight among many unknown', [0, 5, 0], [full, full, full]],
    ['no weight at all', [0, 0], [full, full]],
    ['equal weights', [5, 5], [full, full]],
  ])('makes everything equal with %s', (_, weights, expected) => {
    expect(scale(...weights)).toEqual({ scaled: expected, mean: full });
  });

  it('keeps proportions', () => {
    expect(scale(1, 3, 5)).toEqual({
      scaled: [full / 5, (full * 3) / 5, full],
      mean: (full * 3) / 5,
    });
  });

  it('gives items without a weight the mean of the others', () => {
    expect(scale(1, 0, 3, 5).scaled).toEqual([full / 5, (full * 3) / 5, (full * 3) / 5, full]);
  });

  it('takes a weight above ten times the mean for that', () => {
    const others = Array.from({ length: 30 }, () => 1);
    const mean = (1000 + 30) / 31;
    expect(scale(1000, ...others).scaled.slice(0, 2)).toEqual([
      full,
      Math.round((Math.max(1, mean / 10) / (mean * 10)) * full),
    ]);
  });

  it('takes a weight below a tenth of the mean for that', () => {
    const mean = (0.001 + 3) / 4;
    expect(scale(0.001, 1, 1, 1).scaled).toEqual([
      Math.round((mean / 10) * full),
      full,
      full,
      full,
    ]);
  });

  it('copes with weights whose sum is too great for a number', () => {
    expect(scale(Number.MAX_VALUE, Number.MAX_VALUE, 1).scaled).toEqual([full, full, full]);
  });

  it('copes with the least weights there are', () => {
    expect(scale(Number.MIN_VALUE, Number.MIN_VALUE).scaled).toEqual([full, full]);
  });
});
