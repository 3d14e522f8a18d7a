const EMPTY = 0;
const MIN_CAPACITY = 16;

/**
 * Hashes, each as often as it was added: at 8 to 16 bytes each, a set of what may be there for a tenth of the memory of
 * a set of texts. Hashes are unsigned, of 32 bits, and evenly spread; 0 counts as 1.
 *
 * Equal hashes need not mean equal things. What has no equal hash in here is certainly new.
 */
export class HashBag {
  /** Each hash is where its lowest bits say, or in the next free place from there on. */
  private table = new Uint32Array(MIN_CAPACITY);
  private count = 0;

  /** How many there are. */
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

  /** How often the hash is in here. */
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

  /** Adds it once more. */
  add(hash: number): void {
    if (++this.count * 2 > this.table.length) this.grow();
    insert(this.table, stored(hash));
  }

  /** Removes it once, if it is there. */
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
    // What comes after moves up where it may, so that no search ends too early.
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

function insert(table: Uint32Array, hash: number): void {
  const mask = table.length - 1;
  let i = hash & mask;
  while (table[i] !== EMPTY) i = (i + 1) & mask;
  table[i] = hash;
}

function stored(hash: number): number {
  return hash === EMPTY ? 1 : hash;
}
