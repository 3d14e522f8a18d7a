const MIN_CAPACITY = 16;

/**
 * Finds slots, which are small numbers, by a hash of their contents. Takes 12 to 24 bytes per slot, a fraction of a map
 * with texts as keys, and has no objects for the garbage collector.
 */
export class SlotIndex {
  /** The first slot by the lowest bits of the hash, plus 1; 0 if there is none. */
  private heads = new Uint32Array(MIN_CAPACITY);
  /** The next slot with the same lowest bits, by slot, plus 1; 0 if there is none. */
  private next = new Uint32Array(MIN_CAPACITY);
  private hashes = new Uint32Array(MIN_CAPACITY);

  /** Returns the first slot with the hash for which `isRight` returns `true`; -1 if there is none. */
  find(hash: number, isRight: (slot: number) => boolean): number {
    let link = this.heads[hash & (this.heads.length - 1)] ?? 0;
    while (link !== 0) {
      const slot = link - 1;
      if (this.hashes[slot] === hash && isRight(slot)) return slot;
      link = this.next[slot] ?? 0;
    }
    return -1;
  }

  /** @param hash Unsigned, 32 bits. */
  add(hash: number, slot: number): void {
    if (slot >= this.next.length) this.grow(slot + 1);
    this.hashes[slot] = hash;
    this.link(slot);
  }

  delete(slot: number): void {
    const { heads, next } = this;
    const head = (this.hashes[slot] ?? 0) & (heads.length - 1);
    const after = next[slot] ?? 0;
    let link = heads[head] ?? 0;
    if (link === slot + 1) {
      heads[head] = after;
      return;
    }
    while (link !== 0) {
      const other = link - 1;
      link = next[other] ?? 0;
      if (link === slot + 1) next[other] = after;
    }
  }

  private link(slot: number): void {
    const head = (this.hashes[slot] ?? 0) & (this.heads.length - 1);
    this.next[slot] = this.heads[head] ?? 0;
    this.heads[head] = slot + 1;
  }

  private grow(atLeast: number): void {
    const slots = this.all();
    let capacity = this.next.length;
    while (capacity < atLeast) capacity *= 2;
    const { hashes } = this;
    this.hashes = new Uint32Array(capacity);
    this.hashes.set(hashes);
    this.next = new Uint32Array(capacity);
    this.heads = new Uint32Array(capacity);
    for (const slot of slots) this.link(slot);
  }

  private all(): readonly number[] {
    const slots: number[] = [];
    for (const head of this.heads) {
      for (let link = head; link !== 0; link = this.next[link - 1] ?? 0) slots.push(link - 1);
    }
    return slots;
  }
}
