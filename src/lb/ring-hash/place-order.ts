import { sortInSteps, STEP_SIZE, type Steps } from '../../util/steps';

/** Returns the sort keys of endpoints by slot. */
export interface PlaceLookup {
  /** The key by which endpoints are ordered. */
  sortKeyOf(slot: number): string;
  /** A unique key, which orders endpoints with the same sort key. */
  keyOf(slot: number): string;
}

/** The number of slots up to which each is searched for. */
const FEW = 64;

/** The number of slots inserted in a step. */
const INSERTIONS = 128;

interface Keyed {
  readonly slot: number;
  readonly sortKey: string;
}

/** Slots in the order of their sort keys. An update costs one pass over the slots, and a sort of the added ones. */
export class PlaceOrder {
  private sorted = new Int32Array();

  constructor(private readonly lookup: PlaceLookup) {}

  /** The slots in order. Must not be modified. */
  get slots(): Int32Array {
    return this.sorted;
  }

  /** Removes slots, then inserts others. A slot whose key changed is in both lists. The order changes at the end. */
  *update(removed: ReadonlySet<number>, added: readonly number[]): Steps<void> {
    if (removed.size === 0 && added.length === 0) return;
    const kept = yield* this.without(removed);
    const slots = new Int32Array(kept.length + added.length);
    let copied = 0;
    let length = 0;
    let inserted = 0;
    const entries = yield* this.readKeys(added);
    const order = yield* sortInSteps(entries.length, (a, b) =>
      this.compare(entries[a], entries[b]),
    );
    for (let i = 0; i < order.length; i++) {
      const keyed = entries[order[i] ?? 0];
      if (keyed === undefined) break;
      const position = this.findPosition(kept, copied, keyed);
      slots.set(kept.subarray(copied, position), length);
      length += position - copied;
      copied = position;
      slots[length++] = keyed.slot;
      if (++inserted % INSERTIONS === 0) yield;
    }
    slots.set(kept.subarray(copied), length);
    this.sorted = slots;
  }

  private *without(removed: ReadonlySet<number>): Steps<Int32Array> {
    const { sorted } = this;
    if (removed.size === 0) return sorted;
    const kept = new Int32Array(sorted.length);
    let copied = 0;
    let length = 0;
    for (const position of yield* this.findAll(removed)) {
      kept.set(sorted.subarray(copied, position), length);
      length += position - copied;
      copied = position + 1;
    }
    kept.set(sorted.subarray(copied), length);
    return kept.subarray(0, length + sorted.length - copied);
  }

  /** Returns the positions of slots, in order. A few are found by `indexOf`, which V8 vectorizes. */
  private *findAll(slots: ReadonlySet<number>): Steps<readonly number[]> {
    const { sorted } = this;
    if (slots.size <= FEW) {
      const positions = Array.from(slots, (slot) => sorted.indexOf(slot));
      return positions.filter((position) => position >= 0).sort((a, b) => a - b);
    }
    const positions: number[] = [];
    for (let position = 0; position < sorted.length; position++) {
      if (slots.has(sorted[position] ?? -1)) positions.push(position);
      if (position % STEP_SIZE === STEP_SIZE - 1) yield;
    }
    return positions;
  }

  /** Returns slots with their sort keys. */
  private *readKeys(slots: readonly number[]): Steps<readonly Keyed[]> {
    const keyed: Keyed[] = [];
    for (const slot of slots) {
      keyed.push({ slot, sortKey: this.lookup.sortKeyOf(slot) });
      if (keyed.length % STEP_SIZE === 0) yield;
    }
    return keyed;
  }

  /** Returns the position of the first slot, from `start` on, that is not before the given one. */
  private findPosition(slots: Int32Array, start: number, keyed: Keyed): number {
    let low = start;
    let high = slots.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const slot = slots[middle] ?? 0;
      if (this.compare({ slot, sortKey: this.lookup.sortKeyOf(slot) }, keyed) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private compare(a: Keyed | undefined, b: Keyed | undefined): number {
    if (a === undefined || b === undefined) return 0;
    if (a.sortKey !== b.sortKey) return a.sortKey < b.sortKey ? -1 : 1;
    return this.lookup.keyOf(a.slot) < this.lookup.keyOf(b.slot) ? -1 : 1;
  }
}
