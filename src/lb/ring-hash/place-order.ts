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
  /** The first of these are in order. */
  private column = new Int32Array();
  private count = 0;

  constructor(private readonly lookup: PlaceLookup) {}

  /** The slots in order. Must not be modified. */
  get slots(): Int32Array {
    return this.column.subarray(0, this.count);
  }

  /**
   * Removes slots, then inserts others. A slot whose key changed is in both lists. Between the steps, there is no order.
   */
  *update(removed: ReadonlySet<number>, added: readonly number[]): Steps<void> {
    const entries = yield* this.readKeys(added);
    const order = yield* sortInSteps(entries.length, (a, b) =>
      this.compare(entries[a], entries[b]),
    );
    if (removed.size > 0) yield* this.remove(removed);
    this.reserve(this.count + added.length);
    yield* this.insert(entries, order);
  }

  private *remove(slots: ReadonlySet<number>): Steps<void> {
    const positions = yield* this.findAll(slots);
    const { column, count } = this;
    let kept = 0;
    let copied = 0;
    for (const position of positions) {
      column.copyWithin(kept, copied, position);
      kept += position - copied;
      copied = position + 1;
    }
    column.copyWithin(kept, copied, count);
    this.count = kept + count - copied;
  }

  /** Inserts from the last one on, so that each slot is moved once. @param order The indices of the entries in order. */
  private *insert(entries: readonly Keyed[], order: Uint32Array): Steps<void> {
    const { column } = this;
    let place = this.count + order.length;
    let unmoved = this.count;
    for (let i = order.length - 1; i >= 0; i--) {
      const keyed = entries[order[i] ?? 0];
      if (keyed === undefined) break;
      const position = this.findPosition(unmoved, keyed);
      place -= unmoved - position;
      column.copyWithin(place, position, unmoved);
      unmoved = position;
      column[--place] = keyed.slot;
      if (i % INSERTIONS === 0) yield;
    }
    this.count += order.length;
  }

  private reserve(count: number): void {
    const { column } = this;
    if (count <= column.length) return;
    this.column = new Int32Array(count + (this.count >> 3));
    this.column.set(column);
  }

  /** Returns the positions of slots, in order. A few are found by `indexOf`, which V8 vectorizes. */
  private *findAll(slots: ReadonlySet<number>): Steps<readonly number[]> {
    const { slots: sorted } = this;
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

  /** Returns the position of the first slot that is not before the given one, up to `end`. */
  private findPosition(end: number, keyed: Keyed): number {
    let low = 0;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const slot = this.column[middle] ?? 0;
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
