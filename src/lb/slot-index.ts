const MIN_CAPACITY = 16;

/**
 * Finds things by their hash, where each has a slot: a small number of its own. Takes 12 to 24 bytes for each, a fraction
 * of what a map with texts for keys would, and nothing the garbage collector has to look at.
 */
export class SlotIndex {
  /** By the lowest bits of the hash, the first slot there is, plus 1; 0 if there is none. */
  private heads = new Uint32Array(MIN_CAPACITY);
  /** By slot, the next one with the same lowest bits, likewise. */
  private next = new Uint32Array(MIN_CAPACITY);
  /** By slot. */
  private hashes = new Uint32Array(MIN_CAPACITY);

  /** The first slot with the hash that is the right one; -1 if there is none. */
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

  /** Removes a slot that was added. */
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
