import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Field, MessageLayout, MessageType, Property } from './field-table';

/** The properties of a message, which are those of its type. */
export type Properties = Readonly<Record<string, unknown>>;

/** Returns a message as its properties. @throws TypeError if it is none. */
export function propertiesOf(message: unknown): Properties {
  if (isProperties(message)) return message;
  throw new TypeError(`a message must be an object, not ${typeof message}`);
}

function isProperties(message: unknown): message is Properties {
  return typeof message === 'object' && message !== null;
}

/** Writes the fields that differ from their defaults, in the order of their declaration. */
export function writeMessage(
  writer: BinaryWriter,
  layout: MessageLayout,
  message: Properties,
): BinaryWriter {
  for (const { name, field, members } of layout.properties) {
    const value = message[name];
    if (value === undefined) continue;
    if (members !== undefined) {
      const chosen = propertiesOf(value);
      const member = members.get(chosen['$case']);
      if (member !== undefined) writeOne(writer, member, chosen['value']);
    } else if (field.occurrence === 'list') {
      if (Array.isArray(value)) writeList(writer, field, value);
    } else if (field.occurrence === 'map') {
      if (value instanceof Map) writeMap(writer, field, value);
    } else if (field.occurrence === 'wrapped' || !isInitial(field, value)) {
      writeOne(writer, field, value);
    }
  }
  return writer;
}

function writeList(writer: BinaryWriter, field: Field, list: readonly unknown[]): void {
  if (field.packedTag === undefined) {
    for (const element of list) writeOne(writer, field, element);
  } else if (list.length > 0) {
    writer.uint32(field.packedTag).fork();
    for (const element of list) writeValue(writer, field, element);
    writer.join();
  }
}

function writeMap(
  writer: BinaryWriter,
  { tag, type }: Field,
  map: ReadonlyMap<unknown, unknown>,
): void {
  if (type === undefined) return;
  for (const [key, value] of map) {
    writeMessage(writer.uint32(tag).fork(), type.layout, { key, value }).join();
  }
}

function writeOne(writer: BinaryWriter, field: Field, value: unknown): void {
  const { tag, type } = field;
  writer.uint32(tag);
  if (type === undefined) {
    writeValue(writer, field, value);
    return;
  }
  const message = field.occurrence === 'wrapped' ? { value } : propertiesOf(value);
  writeMessage(writer.fork(), type.layout, message).join();
}

function isInitial({ kind, initial }: Field, value: unknown): boolean {
  return kind === 'bytes' ? bytesOf(value).length === 0 : value === initial;
}

function writeValue(writer: BinaryWriter, field: Field, value: unknown): void {
  switch (field.kind) {
    case 'string':
      writer.string(String(value));
      return;
    case 'uint32':
      writer.uint32(Number(value));
      return;
    case 'int32':
      writer.int32(Number(value));
      return;
    case 'bool':
      writer.bool(Boolean(value));
      return;
    case 'double':
      writer.double(Number(value));
      return;
    case 'float':
      writer.float(Number(value));
      return;
    case 'uint64':
      writer.uint64(integerOf(field, value));
      return;
    case 'int64':
      writer.int64(integerOf(field, value));
      return;
    case 'bytes':
      writer.bytes(bytesOf(value));
      return;
    case 'message':
      throw new TypeError('a message is written by its type');
  }
}

/** Returns an integer of 64 bits. @throws if it has more. */
function integerOf({ name, kind }: Field, value: unknown): bigint {
  if (typeof value === 'bigint') {
    const kept = kind === 'int64' ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
    if (kept === value) return value;
  }
  throw new Error(`value provided for field message.${name} of type ${kind} too large`);
}

function bytesOf(value: unknown): Uint8Array {
  if (isBytes(value)) return value;
  throw new TypeError('bytes must be a Uint8Array');
}

function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value);
}

/** Creates a message of some properties, and of messages in them; those left out have their defaults. */
export function copyMessage<T>(type: MessageType<T>, source: Properties): T {
  const values = type.layout.properties.map((property) =>
    copyProperty(property, source[property.name]),
  );
  return type.construct(values, 0);
}

/** @returns `undefined` if there is no value. */
function copyProperty({ field, members }: Property, value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  if (members !== undefined) return copyMember(members, propertiesOf(value));
  if (Array.isArray(value)) return value.map((element) => copyValue(field, element));
  return value instanceof Map ? copyMap(field, value) : copyValue(field, value);
}

function copyMember(
  members: ReadonlyMap<unknown, Field>,
  { $case, value }: Properties,
): Properties | undefined {
  const member = members.get($case);
  if (member === undefined || value === undefined || value === null) return undefined;
  return { $case, value: copyValue(member, value) };
}

function copyMap({ type }: Field, map: ReadonlyMap<unknown, unknown>): Map<unknown, unknown> {
  const copy = new Map<unknown, unknown>();
  const entryValue = type?.layout.fields[1];
  if (entryValue === undefined) return copy;
  for (const [key, value] of map) {
    if (value !== undefined) copy.set(key, copyValue(entryValue, value));
  }
  return copy;
}

function copyValue({ kind, occurrence, type }: Field, value: unknown): unknown {
  if (occurrence === 'wrapped') return value;
  if (type !== undefined) return copyMessage(type, propertiesOf(value));
  const is64Bits = kind === 'int64' || kind === 'uint64';
  return is64Bits && (typeof value === 'string' || typeof value === 'number')
    ? BigInt(value)
    : value;
}
