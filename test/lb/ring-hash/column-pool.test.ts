import { ColumnPool } from '../../../src/lb/ring-hash/column-pool';

const MIB = 1024 * 1024;

describe('a pool of columns', () => {
  it('gives the memory of a released column to the next one, with zeros in it', () => {
    const pool = new ColumnPool();
    const first = pool.uint32(1000).fill(7);
    pool.release(first);
    const second = pool.int32(990);
    expect(second.buffer).toBe(first.buffer);
    expect([second.length, Math.max(...second)]).toEqual([990, 0]);
    expect(pool.int32(990).buffer).not.toBe(first.buffer);
  });

  it('does not give much memory to a short column', () => {
    const pool = new ColumnPool();
    const long = pool.int32(1000);
    pool.release(long);
    expect(pool.int32(499).buffer).not.toBe(long.buffer);
    expect(pool.int32(1001).buffer).not.toBe(long.buffer);
    expect(pool.int32(500).buffer).toBe(long.buffer);
  });

  it('keeps no more than a mebibyte, and nothing that is small', () => {
    const pool = new ColumnPool();
    const columns = Array.from({ length: 5 }, () => pool.uint32(MIB / 16));
    const small = pool.uint32(200);
    for (const column of [small, ...columns]) pool.release(column);
    const again = columns.map(({ length }) => pool.uint32(length).buffer);
    const known = new Set(columns.map(({ buffer }) => buffer));
    expect(again.filter((buffer) => known.has(buffer)).length).toBe(4);
    expect(pool.uint32(200).buffer).not.toBe(small.buffer);
  });
});
