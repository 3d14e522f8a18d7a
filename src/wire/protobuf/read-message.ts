import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { MAX_MESSAGE_DEPTH, MAX_TEXT_BYTES } from '../../util/limits';
import {
  DEFAULT_LIMIT,
  ReadBudget,
  ReadLimitError,
  TEXT_BYTES_PER_FIELD,
} from '../../util/read-budget';
import type { Field, MessageLayout, MessageType, ValueKind } from './field-table';

/** Room for the values of a message with a few within it, so that the array of most is never enlarged. */
const INITIAL_CAPACITY = 32;

/**
 * Reads a message. As the encoding demands, a field that occurs again replaces the value, or is merged into it if it is a
 * message; unknown fields are skipped.
 *
 * @param length Of the message, which begins at the position of the reader. Default: all there is.
 * @param budget From which the fields that are read are taken.
 * @throws ReadLimitError before an object is made of a field for which the budget has nothing left, or of a text that is too
 * long.
 * @throws when a value is malformed, or does not end where its length says.
 */
export function readMessage<T>(
  type: MessageType<T>,
  input: BinaryReader | Uint8Array,
  length?: number,
  budget: ReadBudget = new ReadBudget(DEFAULT_LIMIT),
): T {
  const reader = input instanceof BinaryReader ? input : new BinaryReader(input);
  const end = length === undefined ? reader.len : reader.pos + length;
  const message = new MessageReader(reader, budget);
  try {
    return message.read(type, end, 1, 0);
  } finally {
    budget.spend(message.fieldsRead);
  }
}

/** The bytes of a number from which on it may have more than 32 bits. */
const BYTES_OF_32_BITS = 5;

class MessageReader {
  /** What the budget had left when reading began. */
  private readonly allowed: number;
  /** Number of fields that may still be read. */
  private left: number;
  /** The fields that are being read, by depth: each is in the message that is the value of the one before. */
  private readonly path: Field[] = [];
  /**
   * The values of the messages that are being read, those of an inner one after those of the outer one; all others are
   * `undefined`. A message is created when all its values are known: then all of a type have the same hidden class, and
   * the methods below, which read every type, store into one array only.
   */
  private readonly values = new Array<unknown>(INITIAL_CAPACITY);

  constructor(
    private readonly reader: BinaryReader,
    private readonly budget: ReadBudget,
  ) {
    this.allowed = budget.left;
    this.left = this.allowed;
  }

  /** Number of fields that were read, as far as the budget has reached. */
  get fieldsRead(): number {
    return this.allowed - Math.max(0, this.left);
  }

  /** @param start Index of the first of the values of the message. */
  read<T>(type: MessageType<T>, end: number, depth: number, start: number): T {
    const { values } = this;
    const { layout } = type;
    this.readFields(layout, end, depth, start);
    const message = type.construct(values, start);
    for (let i = start + layout.size - 1; i >= start; i--) values[i] = undefined;
    return message;
  }

  /** Passes over a field that is not known. @param start Index of its tag, which must be valid. */
  private skip(start: number, depth: number): void {
    const { reader } = this;
    reader.pos = start;
    const [number, wireType] = reader.tag();
    if (wireType === WireType.StartGroup) this.skipGroup(number, depth + 1);
    else this.skipValue(number, wireType);
  }

  private skipValue(number: number, wireType: WireType): void {
    const { reader } = this;
    if (wireType === WireType.LengthDelimited) {
      const length = this.readLength();
      reader.pos += length;
    } else if (wireType === WireType.Varint) {
      // Unlike `skip`, it refuses a number of more than ten bytes, as it is refused where the field is known.
      reader.uint64();
    } else {
      reader.skip(wireType, number);
    }
  }

  /** Passes over a group, each field of which counts: it has no length. */
  private skipGroup(group: number, depth: number): void {
    if (depth > MAX_MESSAGE_DEPTH) throw new Error('protobuf decode recursion limit exceeded');
    const { reader } = this;
    for (;;) {
      if (--this.left < 0) throw this.exceeded(depth, undefined);
      const [number, wireType] = reader.tag();
      if (wireType === WireType.StartGroup) this.skipGroup(number, depth + 1);
      else if (wireType !== WireType.EndGroup) this.skipValue(number, wireType);
      else if (number === group) return;
      else throw new RangeError('a group does not end as it begins');
    }
  }

  private readFields(
    { byNumber, size }: MessageLayout,
    end: number,
    depth: number,
    start: number,
  ): void {
    if (depth > MAX_MESSAGE_DEPTH) throw new Error('protobuf decode recursion limit exceeded');
    const { reader, values } = this;
    const next = start + size;
    while (values.length < next) values.push(undefined);
    while (reader.pos < end) {
      const at = reader.pos;
      const tag = reader.uint32();
      const number = tag >>> 3;
      const field = number < byNumber.length ? byNumber[number] : undefined;
      if (--this.left < 0) throw this.exceeded(depth, field);
      if (field?.tag === tag) this.readField(field, depth, start + field.position, next);
      else if (field?.packedTag === tag) this.readPacked(field, depth, start + field.position);
      else this.skip(at, depth);
    }
    if (reader.pos !== end) throw new RangeError('message does not end where it should');
  }

  /**
   * @param index Of the value.
   * @param next Of the first value of a message in the field.
   */
  private readField(field: Field, depth: number, index: number, next: number): void {
    const { reader, values } = this;
    const { occurrence, type } = field;
    if (type === undefined) {
      if (field.kind === 'string' || field.kind === 'bytes') this.checkLength(field, depth);
      this.store(field, index, readValue(reader, field.kind));
      return;
    }
    this.path[depth] = field;
    const length = this.readLength();
    const end = reader.pos + length;
    if (occurrence !== 'list' && occurrence !== 'map' && values[index] !== undefined) {
      this.restore(field, type.layout, index, next);
    }
    if (occurrence === 'single' || occurrence === 'list') {
      this.store(field, index, this.read(type, end, depth + 1, next));
      return;
    }
    const { layout } = type;
    this.readFields(layout, end, depth + 1, next);
    // Of an entry of a map, or of a wrapper, no message is created.
    const first = values[next] ?? layout.fields[0]?.initial;
    if (occurrence === 'map') this.addEntry(index, first, this.entryValue(layout, depth, next));
    else this.store(field, index, first);
    values.fill(undefined, next, next + layout.size);
  }

  /**
   * Begins a message with the values of an earlier occurrence, which the next one is merged into; another member of a oneof is
   * replaced.
   */
  private restore(
    { occurrence, oneofCase }: Field,
    { properties, size }: MessageLayout,
    index: number,
    start: number,
  ): void {
    const { values } = this;
    let earlier = values[index];
    if (oneofCase !== undefined) {
      if (propertyOf(earlier, '$case') !== oneofCase) return;
      earlier = propertyOf(earlier, 'value');
    }
    if (earlier === undefined) return;
    while (values.length < start + size) values.push(undefined);
    properties.forEach(({ name }, position) => {
      values[start + position] = occurrence === 'wrapped' ? earlier : propertyOf(earlier, name);
    });
  }

  private store({ occurrence, oneofCase }: Field, index: number, value: unknown): void {
    if (occurrence === 'list') this.append(index, value);
    else this.values[index] = oneofCase === undefined ? value : { $case: oneofCase, value };
  }

  private append(index: number, value: unknown): void {
    const list = this.values[index];
    if (Array.isArray(list)) list.push(value);
    else this.values[index] = [value];
  }

  /** Returns the value of an entry of a map: an empty message if the entry has none. */
  private entryValue(layout: MessageLayout, depth: number, start: number): unknown {
    const [, field] = layout.fields;
    const value = this.values[start + 1] ?? field?.initial;
    const type = field?.type;
    if (value !== undefined || type === undefined) return value;
    return this.read(type, this.reader.pos, depth + 2, start + layout.size);
  }

  private addEntry(index: number, key: unknown, value: unknown): void {
    const map = this.values[index];
    if (map instanceof Map) map.set(key, value);
    else this.values[index] = new Map([[key, value]]);
  }

  private readPacked(field: Field, depth: number, index: number): void {
    const length = this.readLength();
    const end = this.reader.pos + length;
    while (this.reader.pos < end) {
      if (--this.left < 0) throw this.exceeded(depth, field);
      this.append(index, readValue(this.reader, field.kind));
    }
  }

  /** Checks the length of the text or the bytes that begin at the position of the reader, before they are read. Texts count by it. */
  private checkLength(field: Field, depth: number): void {
    const { reader } = this;
    const start = reader.pos;
    const length = this.readLength();
    reader.pos = start;
    if (length < TEXT_BYTES_PER_FIELD || field.kind === 'bytes') return;
    if (length > MAX_TEXT_BYTES) {
      const reason = `a text of ${length} bytes exceeds the limit of ${MAX_TEXT_BYTES}`;
      throw new ReadLimitError(this.pathTo(depth, field), reason);
    }
    this.left -= Math.floor(length / TEXT_BYTES_PER_FIELD);
    if (this.left < 0) throw this.exceeded(depth, field);
  }

  /** Reads the length of a text, of bytes or of a message. @throws RangeError when it is more than there is. */
  private readLength(): number {
    const { reader } = this;
    const start = reader.pos;
    let length = reader.uint32();
    if (reader.pos - start >= BYTES_OF_32_BITS) {
      // The reader leaves out the bits above.
      reader.pos = start;
      length = Number(reader.uint64());
    }
    if (length > reader.len - reader.pos) throw new RangeError('premature EOF');
    return length;
  }

  private exceeded(depth: number, field: Field | undefined): ReadLimitError {
    return new ReadLimitError(this.pathTo(depth, field), this.budget.describeLimit());
  }

  /** @param field At the depth, `undefined` for one that is not known. */
  private pathTo(depth: number, field: Field | undefined): string {
    const fields = this.path.slice(1, depth);
    if (field !== undefined) fields.push(field);
    return fields.map(({ name, oneofCase }) => schemaName(oneofCase ?? name)).join('.');
  }
}

function propertyOf(message: unknown, name: string): unknown {
  return typeof message === 'object' && message !== null ? Reflect.get(message, name) : undefined;
}

/** Returns the name of a property as in the schema. */
function schemaName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function readValue(reader: BinaryReader, kind: ValueKind): unknown {
  switch (kind) {
    case 'string':
      return reader.string();
    case 'uint32':
      return reader.uint32();
    case 'int32':
      return reader.int32();
    case 'bool':
      return reader.bool();
    case 'double':
      return reader.double();
    case 'float':
      return reader.float();
    case 'uint64':
      return reader.uint64();
    case 'int64':
      return reader.int64();
    case 'bytes':
      return reader.bytes();
    case 'message':
      throw new TypeError('a message is read by its type');
  }
}
