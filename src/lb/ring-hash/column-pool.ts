/** A column of fewer bytes is not kept. */
const MIN_BYTES = 1024;

/** The most that is kept for later updates. */
const MAX_KEPT_BYTES = 1024 * 1024;

/**
 * Columns of numbers that updates use one after another. They are zeroed. V8 collects all garbage after every few
 * megabytes of new arrays, however short they live, and such a collection delays calls.
 */
export class ColumnPool {
  private readonly buffers: ArrayBuffer[] = [];
  private keptBytes = 0;

  int32(length: number): Int32Array<ArrayBuffer> {
    const buffer = this.take(4 * length);
    return buffer === undefined
      ? new Int32Array(length)
      : new Int32Array(buffer, 0, length).fill(0);
  }

  uint32(length: number): Uint32Array<ArrayBuffer> {
    const buffer = this.take(4 * length);
    return buffer === undefined
      ? new Uint32Array(length)
      : new Uint32Array(buffer, 0, length).fill(0);
  }

  /** Takes back a column of this pool, which must not be used any more. */
  release({ buffer }: Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>): void {
    const { byteLength } = buffer;
    if (byteLength < MIN_BYTES || this.keptBytes + byteLength > MAX_KEPT_BYTES) return;
    this.buffers.push(buffer);
    this.keptBytes += byteLength;
  }

  /** Removes a buffer of at least so many bytes, and of twice as many at most. */
  private take(bytes: number): ArrayBuffer | undefined {
    const { buffers } = this;
    const index = buffers.findIndex(
      ({ byteLength }) => byteLength >= bytes && byteLength <= 2 * bytes,
    );
    const last = buffers.at(-1);
    const buffer = buffers[index];
    if (buffer === undefined || last === undefined) return undefined;
    buffers[index] = last;
    buffers.pop();
    this.keptBytes -= buffer.byteLength;
    return buffer;
  }
}
