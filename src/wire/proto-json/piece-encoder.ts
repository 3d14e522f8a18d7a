import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { err, ok, type Result } from '../../util/result';
import type { Steps } from '../../util/steps';
import { type ExplainOptions } from './explain-json';
import { isJsonObject } from './json-object';
import type { JsonProblem } from './json-problem';

/** Values of a message, or of elements of a list, that are encoded at once. Each takes a microsecond or two. */
const PIECE_VALUES = 500;

/** Values of a part of a message that cannot be cut, such as a `google.protobuf.Struct` or a map. */
const MAX_UNCUT_VALUES = 20_000;

/** Problems after which a message is not read further. */
const MAX_PROBLEMS = 100;
const MORE_PROBLEMS: JsonProblem = { path: [], reason: 'and there may be more' };

const ANY = 'google.protobuf.Any';
const ANY_TYPE_URL = 1;
const ANY_VALUE = 2;

type Encoded = Result<Uint8Array, readonly JsonProblem[]>;

/**
 * Encodes messages in pieces. Encoded messages that follow each other are one message with the fields of all, and the elements
 * of their lists, so that large fields are encoded by themselves and lists some elements at a time.
 */
export class PieceEncoder {
  /** @param encodePiece Encodes a message, or what there is of one, at once. */
  constructor(
    private readonly options: ExplainOptions,
    private readonly encodePiece: (desc: DescMessage, json: JsonObject) => Encoded,
  ) {}

  /** Encodes a message in steps. */
  *encode(desc: DescMessage, json: JsonObject): Steps<Encoded> {
    if (!isLarge(json)) return this.encodePiece(desc, json);
    yield;
    if (desc.typeName === ANY) return yield* this.encodeAny(desc, json);
    const message = new Pieces();
    const rest: JsonObject = {};
    message.add(findConflicts(desc, json), []);
    for (const [key, value] of Object.entries(json)) {
      const field = findField(desc, key);
      if (!isLarge(value)) rest[key] = value;
      else if (field === undefined) {
        if (!this.options.ignoreUnknownFields) rest[key] = value;
      } else if (field.fieldKind === 'list' && Array.isArray(value)) {
        yield* this.addList(message, { desc, field, key }, value);
      } else if (field.fieldKind === 'message' && isJsonObject(value) && canBeCut(field.message)) {
        message.addField(field, yield* this.encode(field.message, value), [key]);
      } else rest[key] = value;
      if (message.isHopeless) return message.result;
    }
    message.add(this.encodeUncut(desc, rest), []);
    return message.result;
  }

  private encodeUncut(desc: DescMessage, json: JsonObject): Encoded {
    if (countValues(json, MAX_UNCUT_VALUES + 1) <= MAX_UNCUT_VALUES) {
      return this.encodePiece(desc, json);
    }
    const reason = `more than ${MAX_UNCUT_VALUES} values in one part of ${desc.typeName}`;
    return err([{ path: [], reason }]);
  }

  private *encodeAny(desc: DescMessage, json: JsonObject): Steps<Encoded> {
    const { '@type': typeUrl, ...content } = json;
    const name = typeof typeUrl === 'string' ? typeUrl.slice(typeUrl.lastIndexOf('/') + 1) : '';
    const inner = this.options.registry.getMessage(name);
    if (typeof typeUrl !== 'string' || inner === undefined || !canBeCut(inner)) {
      return this.encodeUncut(desc, json);
    }
    const encoded = yield* this.encode(inner, content);
    if (!encoded.ok) return encoded;
    const writer = new BinaryWriter();
    writer.tag(ANY_TYPE_URL, WireType.LengthDelimited).string(typeUrl);
    writer.tag(ANY_VALUE, WireType.LengthDelimited).bytes(encoded.value);
    return ok(writer.finish());
  }

  private *addList(message: Pieces, place: ListPlace, elements: JsonValue[]): Steps<void> {
    const { desc, field, key } = place;
    let start = 0;
    while (start < elements.length && !message.isHopeless) {
      const [first] = elements.slice(start, start + 1);
      const inner = field.listKind === 'message' ? field.message : undefined;
      if (inner !== undefined && isJsonObject(first) && isLarge(first) && canBeCut(inner)) {
        message.addField(field, yield* this.encode(inner, first), [key, start]);
        start++;
      } else {
        const end = findEnd(elements, start);
        const piece = this.encodeUncut(desc, { [key]: elements.slice(start, end) });
        message.add(piece, [], { key, offset: start });
        start = end;
      }
      yield;
    }
  }
}

/** The place of a list. */
interface ListPlace {
  /** The message that has it. */
  readonly desc: DescMessage;
  readonly field: DescField & { readonly fieldKind: 'list' };
  readonly key: string;
}

/** Where the elements of a piece are in their list. */
interface ListPart {
  readonly key: string;
  readonly offset: number;
}

/** The pieces of one message, or what is wrong with them. */
class Pieces {
  private readonly pieces: Uint8Array[] = [];
  private readonly problems: JsonProblem[] = [];

  /** Whether there are so many problems that the rest need not be read. */
  get isHopeless(): boolean {
    return this.problems.length >= MAX_PROBLEMS;
  }

  get result(): Encoded {
    if (this.problems.length === 0) return ok(Buffer.concat(this.pieces));
    return err(this.isHopeless ? [...this.problems, MORE_PROBLEMS] : this.problems);
  }

  /** Adds fields. @param at The path of the message that has them. @param part If they are elements of a list, which ones. */
  add(encoded: Encoded, at: JsonProblem['path'], part?: ListPart): void {
    if (encoded.ok) {
      this.pieces.push(encoded.value);
      return;
    }
    for (const problem of encoded.error) {
      if (this.isHopeless) return;
      const path = part === undefined ? problem.path : shift(problem.path, part);
      this.problems.push({ ...problem, path: [...at, ...path] });
    }
  }

  /** Adds a field that is a message. */
  addField({ number }: DescField, encoded: Encoded, at: JsonProblem['path']): void {
    if (!encoded.ok) {
      this.add(encoded, at);
      return;
    }
    const { length } = encoded.value;
    const head = new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(length).finish();
    this.pieces.push(head, encoded.value);
  }
}

/** Corrects the path of a problem in a part of a list. */
function shift(path: JsonProblem['path'], { key, offset }: ListPart): JsonProblem['path'] {
  const [name, index, ...rest] = path;
  return name === key && typeof index === 'number' ? [key, index + offset, ...rest] : path;
}

/** Returns the end of the elements that are encoded together. */
function findEnd(elements: readonly JsonValue[], start: number): number {
  let end = start;
  let left = PIECE_VALUES;
  while (end < elements.length && left > 0) {
    const count = countValues(elements[end] ?? null, PIECE_VALUES + 1);
    if (end > start && count > PIECE_VALUES) break;
    left -= count;
    end++;
  }
  return end;
}

function findField(desc: DescMessage, key: string): DescField | undefined {
  return desc.fields.find(({ name, jsonName }) => name === key || jsonName === key);
}

/** Finds fields that exclude each other, which are not in the same piece. */
function findConflicts(desc: DescMessage, json: JsonObject): Encoded {
  const problems: JsonProblem[] = [];
  const setBy = new Map<object, string>();
  for (const [key, value] of Object.entries(json)) {
    const field = value === null ? undefined : findField(desc, key);
    if (field === undefined) continue;
    const slot = field.oneof ?? field;
    const other = setBy.get(slot);
    if (other === undefined) setBy.set(slot, key);
    else if (isLarge(value) || isLarge(json[other] ?? null)) {
      problems.push({ path: [key], reason: `excludes "${other}", which is also set` });
    }
  }
  return problems.length === 0 ? ok(new Uint8Array()) : err(problems);
}

/** Messages of this package have forms of their own in JSON. */
function canBeCut({ typeName }: DescMessage): boolean {
  return typeName === ANY || !typeName.startsWith('google.protobuf.');
}

/** Whether a value is encoded in more than one piece. */
export function isLarge(json: JsonValue): boolean {
  return countValues(json, PIECE_VALUES + 1) > PIECE_VALUES;
}

/** Counts the values in a value, itself included, up to a limit or a little beyond it. */
function countValues(json: JsonValue, limit: number): number {
  if (typeof json !== 'object' || json === null) return 1;
  let count = 1;
  const values = Array.isArray(json) ? json : Object.values(json);
  for (const value of values) {
    if (count >= limit) break;
    count += countValues(value, limit - count);
  }
  return count;
}
