import type { Decoded, Decoding } from '../../xds-client/resource-type';

/** Bytes of the elements in one part: reading them takes a fraction of a millisecond. */
const PART_BYTES = 4096;
/** What an element counts for besides its bytes. */
const ELEMENT_BYTES = 16;
/** What an item with elements of its own counts for, such as a virtual host. */
const ITEM_BYTES = 256;

/** How much is read before other work has its turn. */
export class Part {
  constructor(private left = PART_BYTES) {}

  get isFull(): boolean {
    return this.left <= 0;
  }

  /** Counts an element. @param bytes Its length. */
  add(bytes: number): void {
    this.left -= bytes + ELEMENT_BYTES;
  }
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

/** Reads the items of a list in order, each with a reader of its elements. */
export class ListReader<Item, T> implements PartReader<readonly T[]> {
  private readonly values: T[] = [];
  private reader: PartReader<T> | undefined;

  /** @param open Called when the items before are read. */
  constructor(
    private readonly items: readonly Item[],
    private readonly open: (item: Item, index: number) => PartReader<T>,
  ) {}

  read(part: Part): boolean {
    const { items, values } = this;
    for (;;) {
      if (this.reader?.read(part) === false) return false;
      if (this.reader !== undefined) values.push(this.reader.finish());
      this.reader = undefined;
      const item = items[values.length];
      if (item === undefined) return true;
      if (part.isFull) return false;
      part.add(ITEM_BYTES);
      this.reader = this.open(item, values.length);
    }
  }

  finish(): readonly T[] {
    return this.values;
  }
}

/** Reads everything at once. */
export function readWhole<T>(reader: PartReader<T>): T {
  reader.read(new Part(Infinity));
  return reader.finish();
}

/** Begins to decode a resource. Most are decoded with the first part. */
export function startDecoding<T>(reader: PartReader<Decoded<T>>): Decoding<T> {
  const next = () => (reader.read(new Part()) ? reader.finish() : undefined);
  return next() ?? { next };
}
