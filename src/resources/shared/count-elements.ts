import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/**
 * Counts the messages at a path of repeated message fields, such as the endpoints of all localities, without decoding
 * anything. Stops beyond `max`. Where the bytes are malformed it counts what comes before; decoding rejects them.
 */
export function countElements(bytes: Uint8Array, path: readonly number[], max: number): number {
  const [field, ...below] = path;
  const reader = new BinaryReader(bytes);
  let count = 0;
  try {
    while (reader.pos < reader.len && count <= max) {
      const [number, wireType] = reader.tag();
      if (number !== field || wireType !== WireType.LengthDelimited) {
        reader.skip(wireType, number);
        continue;
      }
      const length = reader.uint32();
      const start = reader.pos;
      reader.pos += length;
      if (below.length === 0) count++;
      else count += countElements(bytes.subarray(start, start + length), below, max - count);
    }
  } catch {
    return count;
  }
  return count;
}
