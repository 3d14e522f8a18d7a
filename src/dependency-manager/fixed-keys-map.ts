import { inSteps, runSteps, type Steps } from '../util/steps';

/** Number of values that are copied when one of them is set. */
const CHUNK_SIZE = 32;

/** Values by index; `undefined` for a key that is not in the map. */
type Chunk<V> = readonly (V | undefined)[];

/**
 * An immutable map with a fixed set of keys. Setting values returns another map, which shares the keys and most values
 * with this one and so costs far less than a copy.
 */
export class FixedKeysMap<K, V extends object> implements ReadonlyMap<K, V> {
  private constructor(
    /** The index of each key, in order. */
    private readonly places: ReadonlyMap<K, number>,
    private readonly chunks: readonly Chunk<V>[],
    /** Number of keys with a value. */
    readonly size: number,
  ) {}

  /**
   * Creates a map.
   * @param keys The fixed keys, in order.
   * @param values The initial values. The other keys are not in the map until they are set.
   */
  static of<K, V extends object>(keys: Iterable<K>, values: ReadonlyMap<K, V>): FixedKeysMap<K, V> {
    return runSteps(FixedKeysMap.inSteps(keys, values));
  }

  /** Does the same as {@link of} in steps. The keys must not change meanwhile. */
  static *inSteps<K, V extends object>(
    keys: Iterable<K>,
    values: ReadonlyMap<K, V>,
  ): Steps<FixedKeysMap<K, V>> {
    const places = new Map<K, number>();
    const chunks: (V | undefined)[][] = [];
    let size = 0;
    yield* inSteps(keys, (key) => {
      const value = values.get(key);
      if (value !== undefined) size++;
      if (places.size % CHUNK_SIZE === 0) chunks.push([]);
      chunks.at(-1)?.push(value);
      places.set(key, places.size);
    });
    return new FixedKeysMap(places, chunks, size);
  }

  /** Whether all these keys are among the fixed ones. */
  hasPlaces(keys: Iterable<K>): boolean {
    for (const key of keys) if (!this.places.has(key)) return false;
    return true;
  }

  /**
   * Returns a map with other values for some keys.
   * @throws if a key is not one of the fixed keys.
   */
  with(values: ReadonlyMap<K, V>): FixedKeysMap<K, V> {
    const copies = new Map<number, (V | undefined)[]>();
    let { size } = this;
    for (const [key, value] of values) {
      const place = this.places.get(key);
      if (place === undefined) throw new Error('The map was not made for this key');
      const index = Math.floor(place / CHUNK_SIZE);
      const chunk = copies.get(index) ?? [...(this.chunks[index] ?? [])];
      copies.set(index, chunk);
      if (chunk[place % CHUNK_SIZE] === undefined) size++;
      chunk[place % CHUNK_SIZE] = value;
    }
    const chunks = this.chunks.map((chunk, index) => copies.get(index) ?? chunk);
    return new FixedKeysMap(this.places, chunks, size);
  }

  get(key: K): V | undefined {
    const place = this.places.get(key);
    if (place === undefined) return undefined;
    return this.chunks[Math.floor(place / CHUNK_SIZE)]?.[place % CHUNK_SIZE];
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  forEach(callback: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this);
  }

  *entries(): Generator<[K, V], undefined> {
    for (const key of this.places.keys()) {
      const value = this.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  *keys(): Generator<K, undefined> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): Generator<V, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): Generator<[K, V], undefined> {
    return this.entries();
  }
}
