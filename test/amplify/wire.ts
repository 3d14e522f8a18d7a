import { BinaryWriter } from '@bufbuild/protobuf/wire';

/** A tag, a length and a value. */
export function message(tag: number, value: Uint8Array): Uint8Array {
  return new BinaryWriter().uint32(tag).bytes(value).finish();
}

/** As many copies of some bytes as fit into a size, at least one. */
export function fillWith(bytes: Uint8Array, size: number): Buffer {
  const count = Math.max(1, Math.floor(size / bytes.length));
  return Buffer.alloc(count * bytes.length, bytes);
}
