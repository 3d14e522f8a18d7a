import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { DEFAULT_LIMIT, ReadBudget, ReadLimitError } from '../util/read-budget';

/** The elements of a repeated field, encoded, where they are in the message: there is no object for each. */
export class EncodedElements {
  /** @param bounds The start of each and its end. */
  constructor(
    private readonly message: Buffer,
    private readonly bounds: readonly number[],
  ) {}

  get length(): number {
    return this.bounds.length / 2;
  }

  /** Returns the bytes of an element, not copied. */
  at(index: number): Uint8Array {
    return this.message.subarray(this.startOf(index), this.endOf(index));
  }

  /** Returns whether an element has these bytes, then the length of others, and then those others. */
  consistsOf(index: number, head: Uint8Array, value: Uint8Array): boolean {
    const start = this.startOf(index);
    const end = this.endOf(index);
    const lengthAt = start + head.length;
    const valueAt = end - value.length;
    if (lengthAt >= valueAt || !this.isLength(value.length, lengthAt, valueAt)) return false;
    return this.isAt(start, head) && this.isAt(valueAt, value);
  }

  private startOf(index: number): number {
    return this.bounds[2 * index] ?? 0;
  }

  private endOf(index: number): number {
    return this.bounds[2 * index + 1] ?? 0;
  }

  /** Returns whether there is a number, as a varint, between two positions. */
  private isLength(length: number, start: number, end: number): boolean {
    let rest = length;
    for (let at = start; at < end; at++) {
      const isLast = at === end - 1;
      if (this.message[at] !== (rest & 0x7f) + (isLast ? 0 : 0x80)) return false;
      rest >>>= 7;
    }
    return rest === 0;
  }

  /** Compares natively. */
  private isAt(start: number, bytes: Uint8Array): boolean {
    return this.message.compare(bytes, 0, bytes.length, start, start + bytes.length) === 0;
  }
}

/** A message whose elements of one repeated field are taken out. */
export interface SplitMessage {
  readonly elements: EncodedElements;
  /** The message without them. */
  readonly rest: Uint8Array;
}

/**
 * Takes the elements of a repeated field, which are messages, out of a message.
 *
 * @param budget From which the fields of the message are taken. Default: 4,000,000 fields.
 * @throws ReadLimitError when it has more.
 * @throws when a value does not end within the message.
 */
export function splitMessage(
  message: Buffer,
  fieldNumber: number,
  budget = new ReadBudget(DEFAULT_LIMIT),
): SplitMessage {
  let { left } = budget;
  const allowed = left;
  const reader = new BinaryReader(message);
  const elementTag = (fieldNumber << 3) | WireType.LengthDelimited;
  const bounds: number[] = [];
  const rest: Buffer[] = [];
  let restAt = 0;
  while (reader.pos < reader.len) {
    const at = reader.pos;
    if (--left < 0) throw new ReadLimitError('', budget.describeLimit());
    if (reader.uint32() !== elementTag) {
      skipField(reader, at);
      continue;
    }
    const length = reader.uint32();
    const start = reader.pos;
    if (start + length > reader.len) throw new RangeError('premature EOF');
    reader.pos = start + length;
    if (restAt < at) rest.push(message.subarray(restAt, at));
    restAt = reader.pos;
    bounds.push(start, reader.pos);
  }
  rest.push(message.subarray(restAt));
  budget.spend(allowed - left);
  return { elements: new EncodedElements(message, bounds), rest: Buffer.concat(rest) };
}

/** @param at Where its tag is. */
function skipField(reader: BinaryReader, at: number): void {
  reader.pos = at;
  const [number, wireType] = reader.tag();
  reader.skip(wireType, number);
}
