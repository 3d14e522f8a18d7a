/** The options of an `Allowance`. */
export interface AllowanceOptions {
  /** How much a source may take at once. */
  readonly atOnce: number;
  /** Milliseconds after which it may take one more. */
  readonly everyMs: number;
  /** Sources that are remembered; the one that has taken nothing for longest is forgotten first. */
  readonly maxSources: number;
}

/**
 * How much each source may yet take: some at once, and then one after the other. It is a bucket for each, of which the time is
 * kept at which it will be full again.
 */
export class Allowance {
  private readonly fullAtMs = new Map<string, number>();

  constructor(private readonly options: AllowanceOptions) {}

  /** Whether the source may take one more. */
  allows(source: string, nowMs: number): boolean {
    const { atOnce, everyMs } = this.options;
    const missingMs = (this.fullAtMs.get(source) ?? nowMs) - nowMs;
    return missingMs <= (atOnce - 1) * everyMs;
  }

  /** Records that the source has taken one. */
  take(source: string, nowMs: number): void {
    const { everyMs, maxSources } = this.options;
    const before = Math.max(this.fullAtMs.get(source) ?? nowMs, nowMs);
    this.fullAtMs.delete(source);
    this.fullAtMs.set(source, before + everyMs);
    if (this.fullAtMs.size <= maxSources) return;
    const [first] = this.fullAtMs.keys();
    if (first !== undefined) this.fullAtMs.delete(first);
  }

  /** Records that the source has given one back. */
  giveBack(source: string): void {
    const before = this.fullAtMs.get(source);
    if (before !== undefined) this.fullAtMs.set(source, before - this.options.everyMs);
  }
}
