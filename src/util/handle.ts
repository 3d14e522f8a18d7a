/** Something acquired by its owner. */
export interface Handle {
  /** Releases it. Idempotent. */
  release(): void;
}

/** A resource that the application closes. */
export interface Closable {
  /** Ends it. Idempotent. */
  close(): void;
}

/** Creates a handle that calls `onRelease` once. */
export function createHandle(onRelease: () => void): Handle {
  return new OnceHandle(onRelease);
}

/** A class, because a process may have a hundred thousand handles, and a function for each would double them. */
class OnceHandle implements Handle {
  constructor(private onRelease: (() => void) | undefined) {}

  release(): void {
    const { onRelease } = this;
    this.onRelease = undefined;
    onRelease?.();
  }
}

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

/** Things that an application has opened and not closed, so that all of them can be closed at once. */
export class OpenResources {
  private readonly closers = new Set<() => Promise<void>>();

  /**
   * Adds something by the function that closes it.
   * @returns A function that closes it, and removes it from here.
   */
  add(close: () => Promise<void>): () => Promise<void> {
    this.closers.add(close);
    return () => {
      this.closers.delete(close);
      return close();
    };
  }

  /** Closes everything, and waits for its end. */
  async closeAll(): Promise<void> {
    const closers = [...this.closers];
    this.closers.clear();
    await Promise.all(closers.map((close) => close()));
  }
}
