import type { SplitHash } from './ring-entries';

/**
 * The hashes of the first entries of endpoints, by slot. Where there are more endpoints than entries, one endpoint more
 * or less gives half of all entries to other endpoints, many of which have had one before.
 */
export class FirstHashes {
  private highs = new Uint32Array();
  private lows = new Uint32Array();

  /** Provides room for slots. */
  reserve(slots: number): void {
    if (slots <= this.highs.length) return;
    this.highs = grow(this.highs, slots);
    this.lows = grow(this.lows, slots);
  }

  /** Returns the hash in a slot, or `undefined` if it is not known. */
  get(slot: number): SplitHash | undefined {
    const [high, low] = [this.highs[slot] ?? 0, this.lows[slot] ?? 0];
    return high === 0 && low === 0 ? undefined : { high, low };
  }

  /** Keeps the hash in a slot, if there is room. */
  set(slot: number, hash: SplitHash): void {
    this.highs[slot] = hash.high;
    this.lows[slot] = hash.low;
  }

  delete(slot: number): void {
    this.highs[slot] = 0;
    this.lows[slot] = 0;
  }
}

function grow(column: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(length);
  grown.set(column);
  return grown;
}
