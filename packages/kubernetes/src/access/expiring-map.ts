/** Values by key, each until a time. When it is full, the one that was set first makes room. */
export class ExpiringMap<Value> {
  private readonly entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();

  constructor(private readonly maxSize: number) {}

  /** Returns a value that has not expired. */
  get(key: string, nowMs: number): Value | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || entry.untilMs > nowMs) return entry?.value;
    this.entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value, untilMs: number): void {
    this.entries.delete(key);
    this.entries.set(key, { value, untilMs });
    if (this.entries.size <= this.maxSize) return;
    const [first] = this.entries.keys();
    if (first !== undefined) this.entries.delete(first);
  }

  delete(key: string): void {
    this.entries.delete(key);
  }
}
