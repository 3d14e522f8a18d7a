import type { Decoded, Decoding } from '../../xds-client/resource-type';

/** Bytes of the elements in one part: reading them takes a fraction of a millisecond. */
const PART_BYTES = 4096;
/** What an element counts for besides its bytes. */
export const ELEMENT_BYTES = 16;
/** What an item with elements of its own counts for, such as a virtual host. */
export const ITEM_BYTES = 256;

/** What is read before other work has its turn. */
export interface Part {
  /** Bytes that may be added to it. */
  left: number;
}

/** Reads a value that may be large, part by part. */
export interface PartReader<T> {
  /** Reads on until the part is full. @returns whether everything is read. */
  read(part: Part): boolean;
  /** Returns the value. Called once, when everything is read. */
  finish(): T;
}

/** Returns a reader of a value that is known. */
export function readerOf<T>(value: T): PartReader<T> {
  return { read: () => true, finish: () => value };
}

/** Returns a reader that makes something else of a value. */
export function mapReader<T, U>(reader: PartReader<T>, map: (value: T) => U): PartReader<U> {
  return { read: (part) => reader.read(part), finish: () => map(reader.finish()) };
}

/** Returns a reader of encoded elements. @param bounds Where each begins and ends. @param finish Returns the value of all. */
export function readElements<T>(
  bytes: Uint8Array,
  bounds: readonly number[],
  decode: (element: Uint8Array, index: number) => void,
  finish: () => T,
): PartReader<T> {
  let index = 0;
  const read = (part: Part) => {
    for (; 2 * index < bounds.length; index++) {
      if (part.left <= 0) return false;
      const element = bytes.subarray(bounds[2 * index], bounds[2 * index + 1]);
      part.left -= element.length + ELEMENT_BYTES;
      decode(element, index);
    }
    return true;
  };
  return { read, finish };
}

/** Reads the items of a list in order, each with a reader of its elements. */
export class ListReader<Item, V, T> implements PartReader<T> {
  private readonly values: V[] = [];
  private reader: PartReader<V> | undefined;

  /**
   * @param open Called when the items before are read.
   * @param combine Returns the value of all.
   */
  constructor(
    private readonly items: readonly Item[],
    private readonly open: (item: Item, index: number) => PartReader<V>,
    private readonly combine: (values: readonly V[]) => T,
  ) {}

  read(part: Part): boolean {
    const { items, values } = this;
    for (;;) {
      if (this.reader?.read(part) === false) return false;
      if (this.reader !== undefined) values.push(this.reader.finish());
      this.reader = undefined;
      const item = items[values.length];
      if (item === undefined) return true;
      if (part.left <= 0) return false;
      part.left -= ITEM_BYTES;
      this.reader = this.open(item, values.length);
    }
  }

  finish(): T {
    return this.combine(this.values);
  }
}

/** Reads everything at once. */
export function readWhole<T>(reader: PartReader<T>): T {
  reader.read({ left: Infinity });
  return reader.finish();
}

/** Begins to decode a resource. Most are decoded with the first part. */
export function startDecoding<T, U>(
  reader: PartReader<T>,
  toDecoded: (value: T) => Decoded<U>,
): Decoding<U> {
  const next = () => (reader.read({ left: PART_BYTES }) ? toDecoded(reader.finish()) : undefined);
  return next() ?? { next };
}
