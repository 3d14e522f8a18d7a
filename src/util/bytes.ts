/** A view of the same memory, not a copy. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Bytes that the buffer of a collector grows by at least. */
const MIN_GROWTH_BYTES = 4096;

/**
 * Collects bytes that arrive in chunks, in one buffer that doubles. Chunks are copied: those of a sender that sends single
 * bytes would take a hundred times the memory of their bytes if they were kept.
 */
export class ByteCollector {
  private buffer: Buffer;
  private length = 0;
  private isFull = false;

  /**
   * @param maxBytes The most that is kept.
   * @param expectedBytes A number for which the buffer need not grow. Default: 0.
   */
  constructor(
    private readonly maxBytes: number,
    expectedBytes = 0,
  ) {
    this.buffer = Buffer.allocUnsafeSlow(Math.min(expectedBytes, maxBytes));
  }

  /** What was collected. A view: it is valid until a chunk is added. */
  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Adds a chunk. @returns false if there is no room for it; then nothing is kept, and nothing can be added any more. */
  add(chunk: Uint8Array): boolean {
    const length = this.length + chunk.length;
    if (length > this.maxBytes) {
      this.buffer = Buffer.alloc(0);
      this.length = 0;
      this.isFull = true;
    }
    if (this.isFull) return false;
    if (length > this.buffer.length) this.grow(length);
    this.buffer.set(chunk, this.length);
    this.length = length;
    return true;
  }

  private grow(length: number): void {
    const wanted = Math.max(length, 2 * this.buffer.length, MIN_GROWTH_BYTES);
    const next = Buffer.allocUnsafeSlow(Math.min(wanted, this.maxBytes));
    next.set(this.bytes);
    this.buffer = next;
  }
}
