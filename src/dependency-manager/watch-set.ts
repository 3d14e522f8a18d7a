import type { Handle } from '../util/handle';

/** One thing being watched. */
interface Entry<T> {
  observed: T;
  readonly handle: Handle;
}

/** The watches of one kind: starts those that are needed, releases the others, keeps what each has reported. */
export class WatchSet<K, T> {
  private readonly entries = new Map<string, Entry<T>>();

  /**
   * @param initial What a watch has reported before it has reported anything.
   * @param start Begins a watch; `report` may be called at any time until the handle is released.
   */
  constructor(
    private readonly initial: T,
    private readonly start: (
      name: string,
      key: K,
      report: (next: (before: T) => T) => void,
    ) => Handle,
    private readonly onReport: () => void,
  ) {}

  /** What is known of a name; `undefined` if it is not watched. */
  get(name: string): T | undefined {
    return this.entries.get(name)?.observed;
  }

  /**
   * Starts what is needed and not yet watched, and ends what is watched and not needed.
   * @param keepOthers Ends nothing: the walk has not seen everything yet.
   */
  reconcile(needed: ReadonlyMap<string, K>, keepOthers: boolean): void {
    if (!keepOthers) this.releaseOthers(needed);
    for (const [name, key] of needed) if (!this.entries.has(name)) this.add(name, key);
  }

  /** Ends every watch. */
  clear(): void {
    for (const entry of this.entries.values()) entry.handle.release();
    this.entries.clear();
  }

  private releaseOthers(needed: ReadonlyMap<string, K>): void {
    for (const [name, entry] of this.entries) {
      if (needed.has(name)) continue;
      this.entries.delete(name);
      entry.handle.release();
    }
  }

  private add(name: string, key: K): void {
    const entry: Entry<T> = {
      observed: this.initial,
      handle: this.start(name, key, (next) => {
        if (this.entries.get(name) !== entry) return;
        entry.observed = next(entry.observed);
        this.onReport();
      }),
    };
    this.entries.set(name, entry);
  }
}
