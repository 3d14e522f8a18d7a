const HASH_RANGE = 2 ** 64;

/**
 * A ring cut into as many sectors of the same size as it has entries, or somewhat more. Hashes are evenly spread, so next
 * to nothing is left to search for where the sector is known. Where they are not, sectors are just longer.
 */
export class RingSectors {
  private readonly count: number;
  /** The position of the first entry that is in each sector or after it, and the number of entries. */
  private readonly starts: Uint32Array;

  /** @param hashes Of all entries, in order. */
  constructor(hashes: Float64Array) {
    this.count = 1;
    while (this.count < hashes.length) this.count *= 2;
    this.starts = new Uint32Array(this.count + 1);
    let sector = 0;
    for (let position = 0; position < hashes.length; position++) {
      const last = this.indexOf(hashes[position] ?? 0);
      while (sector <= last) this.starts[sector++] = position;
    }
    this.starts.fill(hashes.length, sector);
  }

  /** The sector of a hash, from 0. A greater hash is never in a lower one. */
  indexOf(hash: number): number {
    // The greatest hashes are rounded up to the range.
    return Math.min(this.count - 1, Math.floor((hash / HASH_RANGE) * this.count));
  }

  /** The position where a sector begins; for the number after the last one, where that ends. */
  startOf(sector: number): number {
    return this.starts[sector] ?? 0;
  }
}
