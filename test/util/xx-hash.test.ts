import { XxHash64 } from '../../src/util/xx-hash';
import { createBrokenHash, createReadyHash, whenReady } from '../support/ready-hash';

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
