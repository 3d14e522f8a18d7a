import type { RingEntries, SplitHash } from './ring-entries';

/**
 * The hashes of the first entries of endpoints, by slot. Where there are more endpoints than entries, one endpoint more
 * or less gives half of all entries to other endpoints, many of which have had one before.
 */
export class FirstHashes {
  private highs = new Int32Array();
  private lows = new Int32Array();

  /** Provides room for slots. */
  reserve(slots: number): void {
    if (slots <= this.highs.length) return;
    this.highs = grow(this.highs, slots);
    this.lows = grow(this.lows, slots);
  }

  /**
   * Adds the first entry of an endpoint to others, from column to column: there may be thousands in an update.
   * @returns whether its hash is known. Else nothing is added.
   */
  addEntry(slot: number, entries: RingEntries): boolean {
    const high = this.highs[slot] ?? 0;
    const low = this.lows[slot] ?? 0;
    if (high === 0 && low === 0) return false;
    entries.addHalves(high, low, slot, 0);
    return true;
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

function grow(column: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(length);
  grown.set(column);
  return grown;
}
