import type * as Module from '../../src/util/hashes';
import { KeyedHash, XxHash64 } from '../../src/util/hashes';
import { createBrokenHash, createReadyHash, whenReady } from '../support/ready-hash';

function loadAgain(): typeof Module {
  let loaded: typeof Module | undefined;
  jest.isolateModules(() => {
    loaded = jest.requireActual<typeof Module>('../../src/util/hashes');
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

describe('XxHash64', () => {
  // Published test vectors of XXH64.
  it.each([
    ['', 0n, 0xef46db3751d8e999n],
    ['a', 0n, 0xd24ec4f1a98c6e5bn],
    ['as', 0n, 0x1c330fb2d66be179n],
    ['asdf', 0n, 0x415872f599cea71en],
    ['abc', 0n, 0x44bc2cf5ad770999n],
    ['Call me Ishmael. Some years ago--never mind how long precisely-', 0n, 0x02a2e85470d6fd96n],
    ['', 123n, 0xe0db84de91f3e198n],
  ])('hashes %j with the seed %s', async (text, seed, expected) => {
    const hash = await createReadyHash();
    expect(hash.hash(text, seed)).toBe(expected);
    if (seed === 0n) expect(hash.hash(text)).toBe(expected);
  });

  it('hashes the UTF-8 form of a text', async () => {
    const hash = await createReadyHash();
    expect(hash.hash('größe')).toBe(0xe6bebd6647f502a5n);
    expect(hash.hash('größe')).not.toBe(hash.hash('gr\u00f6\u00dfe '));
  });

  it('hashes texts longer than a page of memory', async () => {
    const hash = await createReadyHash();
    const text = 'ä'.repeat(200_000);
    expect(hash.hash(text)).toBe(hash.hash(text));
    expect(hash.hash(text)).not.toBe(hash.hash(`${text}a`));
  });

  it('throws before it is ready', () => {
    const hash = XxHash64.start();
    expect(hash.isReady).toBe(false);
    expect(hash.failure).toBeUndefined();
    expect(() => hash.hash('a')).toThrow('XxHash64 is not ready');
  });

  it('loads its engine for the first callback', async () => {
    const hash = new XxHash64();
    await whenReady(hash);
    expect(hash.isReady).toBe(true);
  });

  it('calls back at once when it is ready', async () => {
    const hash = await createReadyHash();
    let called = false;
    hash.whenReady(() => (called = true));
    expect(called).toBe(true);
  });

  it('calls all callbacks, except released ones', async () => {
    const hash = XxHash64.start();
    const called: string[] = [];
    const note = () => called.push('twice');
    hash.whenReady(note);
    hash.whenReady(note);
    hash.whenReady(() => called.push('withdrawn')).release();
    await whenReady(hash);
    expect(called).toEqual(['twice', 'twice']);
  });

  it('reports the error of its engine', async () => {
    const hash = await createBrokenHash();
    expect(hash.isReady).toBe(false);
    expect(hash.failure).toBe('WebAssembly is not defined');
    expect(() => hash.hash('a')).toThrow('XxHash64 is not ready');
    let called = false;
    hash.whenReady(() => (called = true));
    expect(called).toBe(true);
  });
});
