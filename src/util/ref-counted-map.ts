import { createHandle, type Handle } from './handle';

interface Entry<V> {
  readonly value: V;
  handles: number;
}

/** Values that are created for the first handle and destroyed with the last. */
export class RefCountedMap<K, V> {
  private readonly entriesByKey = new Map<K, Entry<V>>();

  constructor(
    private readonly create: (key: K) => V,
    private readonly destroy: (value: V, key: K) => void,
  ) {}

  /** Acquires the value of `key`; the first handle creates it. */
  acquire(key: K): Handle & { readonly value: V } {
    let entry = this.entriesByKey.get(key);
    if (entry === undefined) {
      entry = { value: this.create(key), handles: 0 };
      this.entriesByKey.set(key, entry);
    }
    const acquired = entry;
    acquired.handles++;
    const handle = createHandle(() => this.release(key, acquired));
    return { value: acquired.value, release: () => handle.release() };
  }

  /** Returns the value of `key` if it is acquired. */
  get(key: K): V | undefined {
    return this.entriesByKey.get(key)?.value;
  }

  *values(): IterableIterator<V> {
    for (const entry of this.entriesByKey.values()) yield entry.value;
  }

  /** All acquired values with their keys. */
  *entries(): IterableIterator<[K, V]> {
    for (const [key, entry] of this.entriesByKey) yield [key, entry.value];
  }

  private release(key: K, entry: Entry<V>): void {
    if (--entry.handles > 0) return;
    this.entriesByKey.delete(key);
    this.destroy(entry.value, key);
  }
}
