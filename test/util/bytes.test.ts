import { ByteCollector } from '../../src/util/bytes';

describe('bytes that are collected', () => {
  it('are those of all chunks, in order', () => {
    const collector = new ByteCollector(1_000_000);
    const chunks = [
      Buffer.from('a'),
      Buffer.alloc(0),
      Buffer.alloc(100_000, 'b'),
      Buffer.from('c'),
    ];
    for (const chunk of chunks) expect(collector.add(chunk)).toBe(true);
    expect(collector.bytes.equals(Buffer.concat(chunks))).toBe(true);
  });

  it('are one buffer of at most twice their number, however many chunks there were', () => {
    const collector = new ByteCollector(1_000_000);
    const buffers = new Set<ArrayBufferLike>();
    for (let count = 0; count < 200_000; count++) {
      collector.add(Buffer.of(count % 256));
      buffers.add(collector.bytes.buffer);
    }
    const { bytes } = collector;
    expect([bytes.length, bytes[199_999]]).toEqual([200_000, 199_999 % 256]);
    expect(bytes.buffer.byteLength).toBeLessThanOrEqual(400_000);
    expect(buffers.size).toBeLessThan(10);
  });

  it('do not change with a chunk that is used again', () => {
    const collector = new ByteCollector(10);
    const chunk = Buffer.from('abc');
    collector.add(chunk);
    chunk.fill('x');
    expect(collector.bytes.toString()).toBe('abc');
  });

  it('fit the maximum exactly, and are dropped beyond it', () => {
    const collector = new ByteCollector(5000);
    expect(collector.add(Buffer.alloc(4097))).toBe(true);
    expect(collector.add(Buffer.alloc(903))).toBe(true);
    expect(collector.bytes.buffer.byteLength).toBe(5000);
    expect(collector.add(Buffer.of(1))).toBe(false);
    expect(collector.bytes.buffer.byteLength).toBe(0);
    expect(collector.add(Buffer.of(1))).toBe(false);
  });

  it('need no second buffer if their number is known, unless it is more than the maximum', () => {
    const collector = new ByteCollector(5000, 4500);
    const { buffer } = collector.bytes;
    collector.add(Buffer.alloc(4500));
    expect(collector.bytes.buffer).toBe(buffer);
    expect(new ByteCollector(5000, 10_000).bytes.buffer.byteLength).toBe(5000);
  });
});
