const RANGE = 2 ** 32;

/**
 * A division of a ring into sectors of the same size, at least as many as entries. Hashes are evenly distributed, so that
 * little is left to search in a sector; otherwise sectors just have more entries.
 */
export class RingSectors {
  private readonly perHash: number;
  /** The position of the first entry in or after each sector; last, the number of entries. */
  private readonly starts: Uint32Array;

  /** @param highs The upper 32 bits of the hashes of all entries, in order. */
  constructor(highs: Uint32Array) {
    let count = 1;
    while (count < highs.length) count *= 2;
    this.perHash = count / RANGE;
    this.starts = new Uint32Array(count + 1);
    let sector = 0;
    for (let position = 0; position < highs.length; position++) {
      const last = this.indexOf(highs[position] ?? 0);
      while (sector <= last) this.starts[sector++] = position;
    }
    this.starts.fill(highs.length, sector);
  }

  /** Returns the sector of a hash by its upper 32 bits, from 0. A greater hash is never in a lower sector. */
  indexOf(high: number): number {
    return Math.floor(high * this.perHash);
  }

  /** Returns the position of the start of a sector; for the number of sectors, the end of the last. */
  startOf(sector: number): number {
    return this.starts[sector] ?? 0;
  }
}
