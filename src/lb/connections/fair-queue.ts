/** An item of a {@link FairQueue}. */
export interface Owned {
  /** Owners take turns. */
  readonly owner: object;
}

/** A queue that takes one item of each owner in turn, and the items of one owner in the order they were added. */
export class FairQueue<Item extends Owned> {
  /** Items by owner, in the order of the turns. No set is empty. */
  private readonly byOwner = new Map<object, Set<Item>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Adds the item at the end, unless it is in the queue. */
  add(item: Item): void {
    const items = this.byOwner.get(item.owner);
    if (items?.has(item) === true) return;
    this.count++;
    if (items === undefined) this.byOwner.set(item.owner, new Set([item]));
    else items.add(item);
  }

  /** Removes the item. @returns Whether it was in the queue. */
  delete(item: Item): boolean {
    const items = this.byOwner.get(item.owner);
    if (items?.delete(item) !== true) return false;
    this.count--;
    if (items.size === 0) this.byOwner.delete(item.owner);
    return true;
  }

  take(): Item | undefined {
    for (const [owner, items] of this.byOwner) {
      for (const item of items) {
        this.delete(item);
        // Moves this owner behind the others.
        if (this.byOwner.delete(owner)) this.byOwner.set(owner, items);
        return item;
      }
    }
    return undefined;
  }
}
