import type { Random } from '../../src/util/random';

/** A field of an encoded message, or bytes that are none. */
type Field =
  | { kind: 'varint' | 'fixed'; number: number; wireType: number; bytes: Uint8Array }
  | { kind: 'bytes'; number: number; bytes: Uint8Array; message: Field[] | undefined }
  | { kind: 'raw'; bytes: Uint8Array };

const MAX_DEPTH = 24;

/** Changes encoded messages, knowing what they are made of: fields in fields, with lengths that fit. */
export class WireMutations {
  constructor(private readonly random: Random) {}

  /** The message with a few changes. */
  mutate(bytes: Uint8Array): Uint8Array {
    let mutated = bytes;
    for (let left = 1 + this.below(3); left > 0; left--) {
      mutated = this.below(4) === 0 ? this.mutateBytes(mutated) : this.mutateFields(mutated);
    }
    return mutated;
  }

  /** Flips a bit, sets a byte, cuts the end off, or moves, repeats or removes a piece. */
  private mutateBytes(bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0) return Buffer.from([this.below(256)]);
    const from = this.below(bytes.length);
    const to = from + 1 + this.below(Math.min(16, bytes.length - from));
    const at = this.below(bytes.length);
    switch (this.below(6)) {
      case 0:
        return bytes.with(at, (bytes[at] ?? 0) ^ (1 << this.below(8)));
      case 1:
        return bytes.with(at, this.below(256));
      case 2:
        return bytes.slice(0, from);
      case 3:
        return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
      case 4:
        return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, to), bytes.subarray(at)]);
      default:
        return Buffer.concat([bytes, bytes.subarray(from, to)]);
    }
  }

  private mutateFields(bytes: Uint8Array): Uint8Array {
    const root = readFields(bytes, 0);
    if (root === undefined) return this.mutateBytes(bytes);
    // A message somewhere in it, all of them alike.
    const messages: Field[][] = [];
    collect(root, messages);
    const message = this.pick(messages);
    if (message === undefined || message.length === 0) root.push(this.strangeField());
    else this.mutateMessage(message, messages);
    return writeFields(root, message ?? root);
  }

  private mutateMessage(message: Field[], messages: readonly Field[][]): void {
    const at = this.below(message.length);
    const field = message[at];
    if (field === undefined) return;
    switch (this.below(9)) {
      case 0:
        message.splice(at, 1);
        break;
      case 1:
        message.splice(this.below(message.length + 1), 0, ...repeat(field, 1 + this.below(8)));
        break;
      case 2:
        message.splice(at, 1, this.confused(field));
        break;
      case 3:
        message.splice(this.below(message.length + 1), 0, this.strangeField());
        break;
      case 4:
        message.splice(at, 1, asLeaf(this.pick(this.pick(messages) ?? []) ?? field));
        break;
      case 5:
        message.splice(at, 1, this.nested(field));
        break;
      case 6:
        message.reverse();
        break;
      default:
        message.splice(at, 1, this.revalued(field));
    }
  }

  /** The same field with another value of its kind. */
  private revalued(field: Field): Field {
    if (field.kind === 'bytes') {
      const text = this.pick(texts) ?? Buffer.alloc(0);
      return { ...field, bytes: text, message: undefined };
    }
    if (field.kind === 'raw') return field;
    if (field.kind === 'varint') return { ...field, bytes: this.varint() };
    return {
      ...field,
      bytes: Buffer.from(field.bytes.map(() => this.pick([0, 255, 127, 1]) ?? 0)),
    };
  }

  /** The field under another number, or with another kind of value. */
  private confused(field: Field): Field {
    if (field.kind === 'raw') return field;
    const number = this.below(2) === 0 ? field.number : 1 + this.below(40);
    switch (this.below(4)) {
      case 0:
        return { ...field, number };
      case 1:
        return { kind: 'varint', number, wireType: 0, bytes: this.varint() };
      case 2:
        return { kind: 'fixed', number, wireType: 1, bytes: Buffer.alloc(8, this.below(256)) };
      default:
        return {
          kind: 'bytes',
          number,
          bytes: this.pick(texts) ?? field.bytes,
          message: undefined,
        };
    }
  }

  /** The content of a field inside many of the same field. */
  private nested(field: Field): Field {
    if (field.kind !== 'bytes') return field;
    const tag = writeVarint(field.number * 8 + 2);
    const pieces = [field.bytes];
    let { length } = field.bytes;
    for (let depth = this.pick([1, 5, 40, 150, 2000]) ?? 1; depth > 0; depth--) {
      const size = writeVarint(length);
      pieces.push(size, tag);
      length += size.length + tag.length;
    }
    return { ...field, bytes: Buffer.concat(pieces.reverse()), message: undefined };
  }

  /** A field of no schema, or no field. */
  private strangeField(): Field {
    const number = this.pick([1, 2, 15, 16, 99, 19_000, 536_870_911]) ?? 1;
    switch (this.below(5)) {
      case 0:
        return { kind: 'varint', number, wireType: 0, bytes: this.varint() };
      case 1:
        return {
          kind: 'bytes',
          number,
          bytes: this.pick(texts) ?? Buffer.alloc(0),
          message: undefined,
        };
      case 2:
        return { kind: 'fixed', number, wireType: 5, bytes: Buffer.alloc(4, 255) };
      case 3:
        // Groups, field number 0, lengths beyond the end.
        return { kind: 'raw', bytes: Buffer.from(this.pick(notFields) ?? []) };
      default:
        return { kind: 'raw', bytes: Buffer.from([this.below(256), this.below(256)]) };
    }
  }

  private varint(): Uint8Array {
    return Buffer.from(this.pick(varints) ?? [0]);
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }
}

const FF = 0xff;
const varints: readonly (readonly number[])[] = [
  [0],
  [1],
  [0x7f],
  [FF, FF, FF, FF, 0x07],
  [FF, FF, FF, FF, 0x0f],
  [FF, FF, FF, FF, FF, FF, FF, FF, 0x7f],
  [FF, FF, FF, FF, FF, FF, FF, FF, FF, 0x01],
  [FF, FF, FF, FF, FF, FF, FF, FF, FF, 0x7f],
  [FF, FF, FF, FF, FF, FF, FF, FF, FF, FF, FF, 0x01],
  [0x80, 0x80, 0x80, 0x00],
];
const notFields: readonly (readonly number[])[] = [
  [0x0b],
  [0x0c],
  [0x0b, 0x0b, 0x0b, 0x0c, 0x0c, 0x0c],
  [0x00],
  [0x07],
  [0x0a, FF, FF, FF, FF, 0x0f],
  [0x0a, FF, FF, FF, FF, FF, FF, FF, FF, FF, 0x01],
  new Array<number>(3000).fill(0x0b),
];
const texts: readonly Uint8Array[] = [
  '',
  '*',
  'a',
  '__proto__',
  'constructor',
  '\0',
  '\u{1F600}',
  'xdstp://a/b/c?d=e',
  '(a+)+$',
  '(((((((((((x{1000}){1000}',
  '[[:alpha:]',
  'x'.repeat(9000),
  '127.0.0.1',
  'type.googleapis.com/envoy.config.cluster.v3.Cluster',
]
  .map((text): Uint8Array => Buffer.from(text))
  // Not UTF-8: a lone continuation, an overlong slash, a surrogate, a cut-off sequence.
  .concat(
    [[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf0, 0x9f]].map((bytes) => Buffer.from(bytes)),
  );

function repeat<T>(item: T, count: number): T[] {
  return Array.from({ length: count }, () => item);
}

/** The field as it was read, so that it can be put inside itself. */
function asLeaf(field: Field): Field {
  return field.kind === 'bytes' ? { ...field, message: undefined } : field;
}

function collect(message: Field[], into: Field[][]): void {
  into.push(message);
  for (const field of message) {
    if (field.kind === 'bytes' && field.message !== undefined) collect(field.message, into);
  }
}

/** Reads bytes as a message; `undefined` if they cannot be one. */
function readFields(bytes: Uint8Array, depth: number): Field[] | undefined {
  const fields: Field[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = readVarint(bytes, at);
    if (tag === undefined) return undefined;
    const number = Math.floor(tag.value / 8);
    const wireType = tag.value % 8;
    const start = tag.end;
    if (number < 1 || number > 536_870_911) return undefined;
    if (wireType === 2) {
      const length = readVarint(bytes, start);
      if (length === undefined || length.end + length.value > bytes.length) return undefined;
      at = length.end + length.value;
      const content = bytes.subarray(length.end, at);
      const message =
        content.length > 1 && depth < MAX_DEPTH ? readFields(content, depth + 1) : undefined;
      fields.push({ kind: 'bytes', number, bytes: content, message });
      continue;
    }
    const end = wireType === 0 ? readVarint(bytes, start)?.end : fixedEnd(wireType, start);
    if (end === undefined || end > bytes.length) return undefined;
    at = end;
    const kind = wireType === 0 ? 'varint' : 'fixed';
    fields.push({ kind, number, wireType, bytes: bytes.subarray(start, end) });
  }
  return fields;
}

function fixedEnd(wireType: number, start: number): number | undefined {
  if (wireType === 1) return start + 8;
  return wireType === 5 ? start + 4 : undefined;
}

function readVarint(
  bytes: Uint8Array,
  at: number,
): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let index = 0; index < 10; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return undefined;
}

/** @param changed The message among them that is no longer what its bytes say. */
function writeFields(fields: readonly Field[], changed: readonly Field[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (const field of fields) {
    if (field.kind === 'raw') pieces.push(field.bytes);
    else if (field.kind !== 'bytes') {
      pieces.push(writeVarint(field.number * 8 + field.wireType), field.bytes);
    } else {
      const { message } = field;
      const isChanged = message !== undefined && holds(message, changed);
      const content = isChanged ? writeFields(message, changed) : field.bytes;
      pieces.push(writeVarint(field.number * 8 + 2), writeVarint(content.length), content);
    }
  }
  return Buffer.concat(pieces);
}

function holds(message: readonly Field[], sought: readonly Field[]): boolean {
  if (message === sought) return true;
  return message.some(
    (field) =>
      field.kind === 'bytes' && field.message !== undefined && holds(field.message, sought),
  );
}

function writeVarint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
