import { MAX_MESSAGE_DEPTH } from '../../util/limits';
import { DEFAULT_LIMIT, ReadBudget, ReadLimitError } from '../../util/read-budget';

// Wire types.
const VARINT = 0;
const BIT64 = 1;
const LENGTH_DELIMITED = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const BIT32 = 5;

const MAX_VARINT_BYTES = 10;

/** Walks over the fields of an encoded message, without decoding their values and without creating objects. */
export class FieldScanner {
  /** The number of the field. */
  number = 0;
  wireType = VARINT;
  /** Where the tag of the field begins. */
  tagStart = 0;
  /** Where its value begins: of texts, bytes and messages what follows the length. */
  start = 0;
  /** Where it ends. */
  end: number;
  /** Number of fields that were read. */
  count = 0;
  private readonly allowed: number;
  private position: number;

  /** @param budget How many fields are read at most; they are not taken from it. Default: 4,000,000. */
  constructor(
    private readonly bytes: Uint8Array,
    private readonly budget = new ReadBudget(DEFAULT_LIMIT),
    from = 0,
  ) {
    this.allowed = budget.left;
    this.position = from;
    this.end = from;
  }

  /**
   * Moves to the next field. @returns whether there is one.
   * @throws ReadLimitError for one field more than the budget has.
   * @throws RangeError when the bytes are malformed.
   */
  next(): boolean {
    const { bytes } = this;
    this.position = this.end;
    if (this.position >= bytes.length) return false;
    this.readTag();
    this.skipValue(0);
    this.end = this.position;
    if (this.end > bytes.length) throw new RangeError('premature EOF');
    return true;
  }

  /** Whether the field is one of this number with a text, bytes or a message. */
  isDelimited(number: number): boolean {
    return this.number === number && this.wireType === LENGTH_DELIMITED;
  }

  private readTag(): void {
    if (++this.count > this.allowed) throw new ReadLimitError('', this.budget.describeLimit());
    this.tagStart = this.position;
    const tag = this.readVarint();
    this.number = tag >>> 3;
    this.wireType = tag & 7;
    if (this.number === 0 || this.wireType > BIT32) {
      throw new RangeError(`illegal tag: field no ${this.number} wire type ${this.wireType}`);
    }
  }

  private skipValue(depth: number): void {
    this.start = this.position;
    switch (this.wireType) {
      case VARINT:
        this.readVarint();
        return;
      case BIT64:
        this.position += 8;
        return;
      case LENGTH_DELIMITED: {
        const length = this.readLength();
        this.start = this.position;
        this.position += length;
        return;
      }
      case BIT32:
        this.position += 4;
        return;
      case START_GROUP:
        this.skipGroup(depth + 1);
        return;
      default:
        throw new RangeError('the end of a group that did not begin');
    }
  }

  /** Passes over a group, each field of which counts: it has no length. */
  private skipGroup(depth: number): void {
    if (depth > MAX_MESSAGE_DEPTH) throw new RangeError('too many groups within one another');
    const { number, tagStart, start } = this;
    for (;;) {
      this.readTag();
      if (this.wireType === END_GROUP) break;
      this.skipValue(depth);
    }
    if (this.number !== number) throw new RangeError('a group does not end as it begins');
    Object.assign(this, { number, tagStart, start, wireType: START_GROUP });
  }

  private readLength(): number {
    const first = this.position;
    const length = this.readVarint();
    // The bits above the lower 32 are left out; none of them is set in a length that is within any bound.
    for (let at = first + 4; at < this.position; at++) {
      const bits = this.bytes[at] ?? 0;
      if ((bits & (at === first + 4 ? 0x70 : 0x7f)) !== 0) throw new RangeError('premature EOF');
    }
    return length;
  }

  /** Reads a number of at most 64 bits. @returns its lower 32. */
  private readVarint(): number {
    const { bytes } = this;
    let value = 0;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = bytes[this.position++];
      if (byte === undefined) throw new RangeError('premature EOF');
      if (i < 5) value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return value >>> 0;
    }
    throw new RangeError('a number has more than 64 bits');
  }
}
