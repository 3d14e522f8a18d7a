/** A map that is only read. */
export interface Lookup<V> extends Iterable<readonly [string, V]> {
  readonly size: number;
  get(key: string): V | undefined;
  has(key: string): boolean;
  keys(): Iterable<string>;
}

/**
 * An immutable map. One that differs from it in a few keys shares the others with it: it is a large map, and over it a layer of
 * at most about the square root of as many keys. So a change of one of 10,000 keys copies at most 100, and once in 100 changes
 * all of them.
 */
export class LayeredMap<V extends object | true> implements Lookup<V> {
  private constructor(
    private readonly base: ReadonlyMap<string, V>,
    /** In place of those of the base; `undefined` for a key that was removed. */
    private readonly layer: ReadonlyMap<string, V | undefined>,
    readonly size: number,
  ) {}

  static empty<V extends object | true>(): LayeredMap<V> {
    return new LayeredMap<V>(new Map(), new Map(), 0);
  }

  get(key: string): V | undefined {
    // A map of which nothing has changed lately has no layer.
    const value = this.layer.size === 0 ? undefined : this.layer.get(key);
    if (value !== undefined || this.layer.has(key)) return value;
    return this.base.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  *keys(): IterableIterator<string> {
    for (const [key] of this) yield key;
  }

  *[Symbol.iterator](): IterableIterator<readonly [string, V]> {
    for (const entry of this.base) if (!this.layer.has(entry[0])) yield entry;
    for (const [key, value] of this.layer) if (value !== undefined) yield [key, value];
  }

  /** Returns a map with other values for some keys; `undefined` removes one. The same map if nothing differs. */
  with(changes: Iterable<readonly [string, V | undefined]>): LayeredMap<V> {
    let layer: Map<string, V | undefined> | undefined;
    let { size } = this;
    for (const [key, value] of changes) {
      const before = layer?.has(key) === true ? layer.get(key) : this.get(key);
      if (before === value) continue;
      layer ??= new Map(this.layer);
      layer.set(key, value);
      size += Number(value !== undefined) - Number(before !== undefined);
    }
    return layer === undefined ? this : this.over(layer, size);
  }

  private over(layer: ReadonlyMap<string, V | undefined>, size: number): LayeredMap<V> {
    const next = new LayeredMap(this.base, layer, size);
    if (layer.size ** 2 <= this.base.size) return next;
    return new LayeredMap<V>(new Map(next), new Map(), size);
  }
}
