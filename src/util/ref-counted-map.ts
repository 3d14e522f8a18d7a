import { createHandle, type Handle } from './handle';

interface Entry<V> {
  readonly value: V;
  holders: number;
}

/** Values made on first use and destroyed when the last holder lets go. */
export class RefCountedMap<K, V> {
  private readonly entriesByKey = new Map<K, Entry<V>>();

  constructor(
    private readonly create: (key: K) => V,
    private readonly destroy: (value: V, key: K) => void,
  ) {}

  /** Takes a hold on the value of `key`, making it if there is none. */
  acquire(key: K): Handle & { readonly value: V } {
    let entry = this.entriesByKey.get(key);
    if (entry === undefined) {
      entry = { value: this.create(key), holders: 0 };
      this.entriesByKey.set(key, entry);
    }
    const held = entry;
    held.holders++;
    const handle = createHandle(() => this.drop(key, held));
    return { value: held.value, release: () => handle.release() };
  }

  /** The value held under `key`, if any. */
  get(key: K): V | undefined {
    return this.entriesByKey.get(key)?.value;
  }

  /** All values with a holder. */
  *values(): IterableIterator<V> {
    for (const entry of this.entriesByKey.values()) yield entry.value;
  }

  /** All values with a holder, each with its key. */
  *entries(): IterableIterator<[K, V]> {
    for (const [key, entry] of this.entriesByKey) yield [key, entry.value];
  }

  private drop(key: K, entry: Entry<V>): void {
    if (--entry.holders > 0) return;
    this.entriesByKey.delete(key);
    this.destroy(entry.value, key);
  }
}
