/** As many values are copied when one of them is set. */
const CHUNK_SIZE = 32;

/** Values by place; `undefined` for a key that is not in the map. */
type Chunk<V> = readonly (V | undefined)[];

/**
 * An immutable map whose keys are settled when the first one is made. Setting values makes another map, which
 * shares with this one the keys and most of the rest, so it costs far less than to copy it.
 */
export class FixedKeysMap<K, V extends object> implements ReadonlyMap<K, V> {
  private constructor(
    /** The place of each key there will ever be, in order. */
    private readonly places: ReadonlyMap<K, number>,
    private readonly chunks: readonly Chunk<V>[],
    /** How many keys have a value. */
    readonly size: number,
  ) {}

  /**
   * Makes the first map.
   * @param keys Every key there will ever be, in order.
   * @param values Those to begin with. The other keys are not in the map until they are set.
   */
  static of<K, V extends object>(keys: Iterable<K>, values: ReadonlyMap<K, V>): FixedKeysMap<K, V> {
    const places = new Map<K, number>();
    const chunks: (V | undefined)[][] = [];
    let size = 0;
    for (const key of keys) {
      const value = values.get(key);
      if (value !== undefined) size++;
      if (places.size % CHUNK_SIZE === 0) chunks.push([]);
      chunks.at(-1)?.push(value);
      places.set(key, places.size);
    }
    return new FixedKeysMap(places, chunks, size);
  }

  /**
   * Makes the map that has other values for some keys.
   * @throws if a key is not among those settled.
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
