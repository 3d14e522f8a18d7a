import type { ElementLimit } from './resource-type';

/** Counts the elements of the resources cached from one management server, by the limit they count against. */
export class ElementCounts {
  private readonly counts = new Map<ElementLimit, number>();

  /** Returns how many elements count against the limit. */
  of(limit: ElementLimit): number {
    return this.counts.get(limit) ?? 0;
  }

  /** Adds a number of elements, or removes them if it is negative. */
  add(limit: ElementLimit, count: number): void {
    this.counts.set(limit, this.of(limit) + count);
  }
}
