import type { Field, MessageType, Property } from './field-table';
import { propertiesOf } from './write-message';
import type { Properties } from './write-message';

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
