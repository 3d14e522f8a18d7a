import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Field, MessageType } from '../../src/wire/protobuf/field-table';
import type { Place } from './places';
import { fillWith, message } from './wire';

/** How a field is filled. */
export const WAYS = ['most empty', 'smallest valid', 'deepest'] as const;
export type Way = (typeof WAYS)[number];

/** Levels of messages within one another, just less than a decoder accepts below any other message. */
const DEPTH = 90;
/** Levels of messages that are no element of themselves. */
const MAX_PATH = 16;

/** Returns the encoded field of a place, filled to about a size. */
export function fill(place: Place, way: Way, size: number): Uint8Array {
  const { field } = place;
  if (field.occurrence === 'map') return fillMap(field, way, size);
  if (field.type !== undefined) return fillMessages(place, field.type, way, size);
  if (field.kind === 'string' || field.kind === 'bytes') return fillTexts(place, way, size);
  return fillNumbers(field, way, size);
}

function fillMessages(place: Place, type: MessageType, way: Way, size: number): Uint8Array {
  const tag = place.field.tag;
  switch (way) {
    case 'most empty':
      return fillWith(message(tag, new Uint8Array(0)), size);
    case 'smallest valid':
      return fillWith(message(tag, place.element ?? smallest(type)), size);
    case 'deepest':
      return fillWith(message(tag, nest(type)), size);
  }
}

function fillTexts({ field, element }: Place, way: Way, size: number): Uint8Array {
  const tag = field.tag;
  switch (way) {
    case 'most empty':
      return fillWith(message(tag, new Uint8Array(0)), size);
    case 'smallest valid':
      return fillWith(message(tag, element ?? Buffer.from('a')), size);
    case 'deepest':
      // One text of separators: what is deep in a text is what it is split into.
      return message(tag, Buffer.alloc(size, 'a,\u0001'));
  }
}

function fillNumbers(field: Field, way: Way, size: number): Uint8Array {
  const one = new BinaryWriter().uint32(field.tag);
  if (field.kind === 'double') one.double(1);
  else if (field.kind === 'float') one.float(1);
  else one.uint32(1);
  if (way === 'most empty' || field.packedTag === undefined) return fillWith(one.finish(), size);
  return message(field.packedTag, Buffer.alloc(size, way === 'deepest' ? 0 : 1));
}

/** Entries with different keys, the last of which are repeated beyond a million. */
function fillMap(field: Field, way: Way, size: number): Uint8Array {
  const tag = field.tag;
  if (way === 'most empty') return fillWith(message(tag, new Uint8Array(0)), size);
  const valueField = field.type?.layout.fields[1];
  const value = valueField === undefined ? new Uint8Array(0) : valueOf(valueField, way);
  const entries: Uint8Array[] = [];
  for (let length = 0, i = 0; length < size && i < 1_000_000; i++) {
    const key = message(0x0a, Buffer.from(i.toString(36)));
    const entry = message(tag, Buffer.concat([key, value]));
    entries.push(entry);
    length += entry.length;
  }
  return Buffer.concat(entries);
}

function valueOf(field: Field, way: Way): Uint8Array {
  if (field.type === undefined) return encodeScalar(field);
  return message(field.tag, way === 'deepest' ? nest(field.type) : smallest(field.type));
}

/** A message with each of its fields once, and the first member of each oneof, two levels deep. */
function smallest(type: MessageType, depth = 0): Uint8Array {
  const parts: Uint8Array[] = [];
  const set = new Set<number>();
  for (const field of type.layout.fields) {
    if (set.has(field.position) || field.occurrence === 'map') continue;
    set.add(field.position);
    if (field.type === undefined) parts.push(encodeScalar(field));
    else if (depth < 2) parts.push(message(field.tag, smallest(field.type, depth + 1)));
  }
  return Buffer.concat(parts);
}

function encodeScalar(field: Field): Uint8Array {
  const writer = new BinaryWriter().uint32(field.tag);
  switch (field.kind) {
    case 'string':
    case 'bytes':
      return writer.string('a').finish();
    case 'double':
      return writer.double(1).finish();
    case 'float':
      return writer.float(1).finish();
    default:
      return writer.uint32(1).finish();
  }
}

/** A message with messages in messages, as deep as the type allows. */
function nest(type: MessageType): Uint8Array {
  const cycle = cycleOf(type);
  const path = cycle === undefined ? longestPath(type) : repeat(cycle, DEPTH);
  return path.reduceRight<Uint8Array>(
    (inner, field) => message(field.tag, inner),
    new Uint8Array(0),
  );
}

function repeat(cycle: readonly Field[], depth: number): readonly Field[] {
  return Array.from({ length: depth }, (_, i) => cycle[i % cycle.length]).filter(
    (field) => field !== undefined,
  );
}

/** The shortest way from a type to itself. */
function cycleOf(type: MessageType): readonly Field[] | undefined {
  const paths: (readonly Field[])[] = [[]];
  const seen = new Set<MessageType>();
  for (const path of paths) {
    const end = path.at(-1)?.type ?? type;
    for (const field of end.layout.fields) {
      if (field.type === undefined) continue;
      if (field.type === type) return [...path, field];
      if (seen.has(field.type)) continue;
      seen.add(field.type);
      paths.push([...path, field]);
    }
  }
  return undefined;
}

/** A long way from a type to others, without a type twice. */
function longestPath(type: MessageType, seen: readonly MessageType[] = []): readonly Field[] {
  let longest: readonly Field[] = [];
  if (seen.length >= MAX_PATH) return longest;
  for (const field of type.layout.fields) {
    if (field.type === undefined || field.type === type || seen.includes(field.type)) continue;
    const path = [field, ...longestPath(field.type, [...seen, type])];
    if (path.length > longest.length) longest = path;
  }
  return longest;
}
