import { DEFAULT_LIMIT, ReadBudget } from '../../util/read-budget';
import { FieldScanner } from './field-scanner';

/** The elements of a repeated field, encoded, where they are in the message: there is no object for each. */
export class EncodedElements {
  readonly length: number;

  /** @param bounds The start of each and its end. */
  constructor(
    private readonly message: Buffer,
    private readonly bounds: readonly number[],
  ) {
    this.length = bounds.length / 2;
  }

  /** Returns the bytes of an element, not copied. */
  at(index: number): Uint8Array {
    return this.message.subarray(this.bounds[2 * index] ?? 0, this.bounds[2 * index + 1] ?? 0);
  }

  /** Returns whether an element has these bytes, then the length of others, and then those others. */
  consistsOf(index: number, head: Uint8Array, value: Uint8Array): boolean {
    const start = this.bounds[2 * index] ?? 0;
    const end = this.bounds[2 * index + 1] ?? 0;
    const lengthAt = start + head.length;
    const valueAt = end - value.length;
    if (lengthAt >= valueAt || !this.isLength(value.length, lengthAt, valueAt)) return false;
    return this.isAt(start, head) && this.isAt(valueAt, value);
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
  /** Where each element begins, and where it ends: pairs, in order. */
  readonly bounds: readonly number[];
  /** The message without them. */
  readonly rest: Buffer;
  /** How much of the rest comes before the first element; all of it if there is none. */
  readonly headLength: number;
}

/**
 * Takes the elements of a repeated field, which are messages, out of a message.
 *
 * @param budget From which the fields of the message are taken. Default: 4,000,000 fields.
 * @throws ReadLimitError when it has more.
 * @throws RangeError when a value does not end within the message.
 */
export function splitMessage(
  message: Uint8Array,
  field: number,
  budget = new ReadBudget(DEFAULT_LIMIT),
): SplitMessage {
  const scanner = new FieldScanner(message, budget);
  const bounds: number[] = [];
  /** Start and end of each part of the rest but the last one. */
  const others: number[] = [];
  let headLength = message.length;
  let restStart = 0;
  while (scanner.next()) {
    if (!scanner.isDelimited(field)) continue;
    const { tagStart, start, end } = scanner;
    if (bounds.length === 0) headLength = tagStart;
    if (restStart < tagStart) others.push(restStart, tagStart);
    restStart = end;
    bounds.push(start, end);
  }
  budget.spend(scanner.count);
  others.push(restStart, message.length);
  return { bounds, rest: join(message, others), headLength };
}

/** Copies parts of a message into one. */
function join(message: Uint8Array, bounds: readonly number[]): Buffer {
  let length = 0;
  for (let i = 0; i < bounds.length; i += 2) length += (bounds[i + 1] ?? 0) - (bounds[i] ?? 0);
  const joined = Buffer.allocUnsafe(length);
  let at = 0;
  for (let i = 0; i < bounds.length; i += 2) {
    const part = message.subarray(bounds[i], bounds[i + 1]);
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
