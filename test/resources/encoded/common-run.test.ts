import { commonRun } from '../../../src/resources/encoded/slice-comparison';

describe('the run of equal bytes', () => {
  const lengths = [0, 1, 2, 63, 64, 65, 190, 1000, 5000];

  it.each(lengths)('ends at the first difference, %s bytes on', (length) => {
    const a = Buffer.alloc(6000, 1);
    const b = Buffer.alloc(6003, 1);
    b[3 + length] = 2;
    const [here, there] = [
      { bytes: a, position: 0 },
      { bytes: b, position: 3 },
    ];
    expect(commonRun(here, there, 6000)).toBe(length);
    expect(commonRun(there, here, 6000)).toBe(length);
  });

  it.each(lengths)('ends at the limit of %s bytes', (limit) => {
    const bytes = Buffer.alloc(6000, 1);
    const here = { bytes, position: 10 };
    expect(commonRun(here, { bytes, position: 500 }, limit)).toBe(limit);
  });
});
