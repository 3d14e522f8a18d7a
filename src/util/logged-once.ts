/** The number of keys that are remembered; the one that was logged first is forgotten first. */
const MAX_KEYS = 1000;

/** Remembers what was logged, so that it is logged once. */
export class LoggedOnce {
  private readonly keys = new Set<string>();

  /** Remembers a key. @returns whether it was not known. */
  isFirst(key: string): boolean {
    const { keys } = this;
    if (keys.has(key)) return false;
    keys.add(key);
    const [oldest = key] = keys;
    if (keys.size > MAX_KEYS) keys.delete(oldest);
    return true;
  }

  /** Forgets everything. @returns whether anything was remembered. */
  clear(): boolean {
    const hadAny = this.keys.size > 0;
    this.keys.clear();
    return hadAny;
  }
}
