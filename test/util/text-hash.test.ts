import { hashText } from '../../src/util/text-hash';

describe('the hash of a text', () => {
  it('depends on the text and the seed alone', () => {
    expect(hashText('10.0.0.1', 80)).toBe(hashText('10.0.0.1', 80));
    expect(hashText('10.0.0.1', 80)).not.toBe(hashText('10.0.0.1', 81));
    expect(hashText('10.0.0.1', 80)).not.toBe(hashText('10.0.0.2', 80));
    expect(hashText('')).toBe(hashText('', 0));
  });

  it('is spread evenly in its upper and its lower bits', () => {
    const [upper, lower] = [new Array<number>(16).fill(0), new Array<number>(16).fill(0)];
    for (let i = 0; i < 16_000; i++) {
      const hash = hashText(`10.${i >> 8}.0.${i & 255}`, 80);
      expect(hash).toBe(hash >>> 0);
      upper[hash >>> 28] = (upper[hash >>> 28] ?? 0) + 1;
      lower[hash & 15] = (lower[hash & 15] ?? 0) + 1;
    }
    // 1,000 each, give or take five standard deviations.
    for (const count of [...upper, ...lower]) expect(Math.abs(count - 1000)).toBeLessThan(160);
  });
});
