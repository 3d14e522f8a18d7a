import type { Handle } from '../util/handle';
import type { ElementLimit } from './resource-type';

/** Counts what the resources of one management server have, by the limit it counts against. */
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

/** What one resource counts against a limit, until it is released. */
export class ElementCount implements Handle {
  private count = 0;

  constructor(
    private readonly counts: ElementCounts,
    private readonly limit: ElementLimit,
  ) {}

  /** Replaces what it counts. */
  set(count: number): void {
    if (count === this.count) return;
    this.counts.add(this.limit, count - this.count);
    this.count = count;
  }

  /** How many elements it may have. */
  get room(): number {
    return this.limit.max - this.counts.of(this.limit) + this.count;
  }

  release(): void {
    this.set(0);
  }
}
