import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Field } from '../../src/protobuf/field-table';

/** A tag, a length and a value. */
export function message(tag: number, value: Uint8Array): Uint8Array {
  return new BinaryWriter().uint32(tag).bytes(value).finish();
}

/** The tag of an element of a field, with its own wire type. */
export function tagOf({ tag }: Field): number {
  return tag;
}

/** As many copies of some bytes as fit into a size, at least one. */
export function fillWith(bytes: Uint8Array, size: number): Buffer {
  const count = Math.max(1, Math.floor(size / bytes.length));
  return Buffer.alloc(count * bytes.length, bytes);
}
