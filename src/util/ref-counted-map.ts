import { createHandle, type Handle } from './handle';

interface Entry<V> {
  readonly value: V;
  holders: number;
}

/** Values made on first use and destroyed when the last holder lets go. */
export class RefCountedMap<K, V> {
  private readonly entries = new Map<K, Entry<V>>();

  constructor(
    private readonly create: (key: K) => V,
    private readonly destroy: (value: V, key: K) => void,
  ) {}

  /** Takes a hold on the value of `key`, making it if there is none. */
  acquire(key: K): Handle & { readonly value: V } {
    let entry = this.entries.get(key);
    if (entry === undefined) {
      entry = { value: this.create(key), holders: 0 };
      this.entries.set(key, entry);
    }
    const held = entry;
    held.holders++;
    const handle = createHandle(() => this.drop(key, held));
    return { value: held.value, release: () => handle.release() };
  }

  /** The value held under `key`, if any. */
  get(key: K): V | undefined {
    return this.entries.get(key)?.value;
  }

  /** All values with a holder. */
  *values(): IterableIterator<V> {
    for (const entry of this.entries.values()) yield entry.value;
  }

  private drop(key: K, entry: Entry<V>): void {
    if (--entry.holders > 0) return;
    this.entries.delete(key);
    this.destroy(entry.value, key);
  }
}
