const EMPTY = 0;
const MIN_CAPACITY = 16;

/**
 * A multiset of hashes: at 8 to 16 bytes each, a set of probable members in a tenth of the memory of a set of texts.
 * Hashes are unsigned, of 32 bits, and evenly distributed whatever is hashed, as those of `KeyedHash`; 0 counts as 1.
 *
 * An absent hash proves that a text is new; a present one does not prove that it is known.
 */
export class HashBag {
  /** Open addressing: each hash is at the index of its lowest bits, or in the next free place. */
  private table = new Uint32Array(MIN_CAPACITY);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Returns a bag with the same hashes. */
  copy(): HashBag {
    const copy = new HashBag();
    copy.table = this.table.slice();
    copy.count = this.count;
    return copy;
  }

  /** Returns the number of occurrences of the hash. */
  countOf(hash: number): number {
    const { table } = this;
    const mask = table.length - 1;
    const wanted = stored(hash);
    let found = 0;
    for (let i = wanted & mask; table[i] !== EMPTY; i = (i + 1) & mask) {
      if (table[i] === wanted) found++;
    }
    return found;
  }

  /** @returns The number of places that were tried. */
  add(hash: number): number {
    if (++this.count * 2 > this.table.length) this.grow();
    return insert(this.table, stored(hash));
  }

  /** Removes one occurrence, if any. */
  delete(hash: number): void {
    const { table } = this;
    const mask = table.length - 1;
    const wanted = stored(hash);
    let hole = wanted & mask;
    while (table[hole] !== wanted) {
      if (table[hole] === EMPTY) return;
      hole = (hole + 1) & mask;
    }
    this.count--;
    // Moves the following hashes up where possible, so that no search ends too early.
    for (let i = (hole + 1) & mask; ; i = (i + 1) & mask) {
      const hashThere = table[i] ?? EMPTY;
      if (hashThere === EMPTY) break;
      const distance = (i - (hashThere & mask)) & mask;
      if (distance < ((i - hole) & mask)) continue;
      table[hole] = hashThere;
      hole = i;
    }
    table[hole] = EMPTY;
  }

  private grow(): void {
    const larger = new Uint32Array(this.table.length * 2);
    for (const hash of this.table) if (hash !== EMPTY) insert(larger, hash);
    this.table = larger;
  }
}

function insert(table: Uint32Array, hash: number): number {
  const mask = table.length - 1;
  let tried = 1;
  let i = hash & mask;
  for (; table[i] !== EMPTY; i = (i + 1) & mask) tried++;
  table[i] = hash;
  return tried;
}

function stored(hash: number): number {
  return hash === EMPTY ? 1 : hash;
}
