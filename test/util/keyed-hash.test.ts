import type * as Module from '../../src/util/keyed-hash';
import { KeyedHash } from '../../src/util/keyed-hash';

function loadAgain(): typeof Module {
  let loaded: typeof Module | undefined;
  jest.isolateModules(() => {
    loaded = jest.requireActual<typeof Module>('../../src/util/keyed-hash');
  });
  if (loaded === undefined) throw new Error('not loaded');
  return loaded;
}

describe('a keyed hash', () => {
  const hash = new KeyedHash([0x03020100, 0x07060504]);

  // The test vectors of lib/test_siphash.c in Linux: the bytes 0, 1, 2 and so on. The number is the first four of them.
  it.each([
    ['', 0x7e059ea6],
    ['\u0504', 0xa0080b65],
    ['\u0504\u0706', 0x577999b1],
    ['\u0504\u0706\u0908', 0xe4fa32cf],
  ])('is HalfSipHash-1-3 of the number and the text %j', (text, expected) => {
    expect(hash.hashText(text, 0x03020100)).toBe(expected);
  });

  it('depends only on the key, the text and the number', () => {
    const before = hash.hashText('10.0.0.1', 80);
    expect(new KeyedHash([0x03020100, 0x07060504]).hashText('10.0.0.1', 80)).toBe(before);
    expect(new KeyedHash([0x03020101, 0x07060504]).hashText('10.0.0.1', 80)).not.toBe(before);
    expect(new KeyedHash([0x03020100, 0x07060505]).hashText('10.0.0.1', 80)).not.toBe(before);
    expect(hash.hashText('10.0.0.1', 81)).not.toBe(before);
    expect(hash.hashText('10.0.0.2', 80)).not.toBe(before);
    expect(hash.hashText('10.0.0.10', 80)).not.toBe(before);
  });

  it('is evenly distributed in its upper and its lower bits', () => {
    const [upper, lower] = [new Array<number>(16).fill(0), new Array<number>(16).fill(0)];
    for (let i = 0; i < 16_000; i++) {
      const value = hash.hashText(`10.${i >> 8}.0.${i & 255}`, 80);
      expect(value).toBe(value >>> 0);
      upper[value >>> 28] = (upper[value >>> 28] ?? 0) + 1;
      lower[value & 15] = (lower[value & 15] ?? 0) + 1;
    }
    // 1,000 each, give or take five standard deviations.
    for (const count of [...upper, ...lower]) expect(Math.abs(count - 1000)).toBeLessThan(160);
  });

  it('has another key in each process', () => {
    const texts = Array.from({ length: 8 }, (_, i) => `10.0.0.${i}`);
    const [first, second] = [loadAgain(), loadAgain()].map(({ processHash }) =>
      texts.map((text) => processHash.hashText(text, 80)),
    );
    expect(first).not.toEqual(second);
  });
});
