import type { ColumnPool } from './column-pool';
import { TOP_BIT } from './ring-entries';

/**
 * A division of a ring into sectors of the same size, at least as many as entries. Hashes are evenly distributed, so that
 * little is left to search in a sector; otherwise sectors just have more entries.
 */
export class RingSectors {
  /** The number of bits that hashes of the same sector differ in. */
  private readonly bits: number;
  /** The position of the first entry in or after each sector; last, the number of entries. */
  private readonly starts: Uint32Array<ArrayBuffer>;

  /** @param highs See `SplitHash.high`; those of all entries, in order. */
  constructor(
    private readonly columns: ColumnPool,
    highs: Int32Array,
  ) {
    let count = 1;
    this.bits = 32;
    while (count < highs.length) {
      count *= 2;
      this.bits--;
    }
    this.starts = columns.uint32(count + 1);
    let sector = 0;
    for (let position = 0; position < highs.length; position++) {
      const last = this.indexOf(highs[position] ?? 0);
      while (sector <= last) this.starts[sector++] = position;
    }
    this.starts.fill(highs.length, sector);
  }

  /** See `RingEntries.release`. */
  release(): void {
    this.columns.release(this.starts);
  }

  /** Returns the sector of a hash, from 0. A greater hash is never in a lower sector. @param high See `SplitHash.high`. */
  indexOf(high: number): number {
    // Two shifts: one by 32 would be none.
    return ((high ^ TOP_BIT) >>> 1) >>> (this.bits - 1);
  }

  /** Returns the position of the start of a sector; for the number of sectors, the end of the last. */
  startOf(sector: number): number {
    return this.starts[sector] ?? 0;
  }
}
