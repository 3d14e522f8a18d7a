import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** A message with the elements of one repeated message field set apart, undecoded. */
export interface SplitMessage {
  /** The message without that field. */
  readonly rest: Uint8Array;
  /** How much of the rest comes before the first element; all of it if there is none. */
  readonly headLength: number;
  /** Where each element begins and ends in the original bytes: pairs, in order. */
  readonly offsets: Uint32Array;
}

/** Sets a repeated message field apart. @returns `undefined` if the bytes are malformed. */
export function splitMessage(bytes: Uint8Array, field: number): SplitMessage | undefined {
  const reader = new BinaryReader(bytes);
  const offsets: number[] = [];
  const rest: Uint8Array[] = [];
  let headLength = bytes.length;
  try {
    while (reader.pos < reader.len) {
      const fieldStart = reader.pos;
      const [number, wireType] = reader.tag();
      if (number === field && wireType === WireType.LengthDelimited) {
        const length = reader.uint32();
        if (offsets.length === 0) headLength = fieldStart;
        offsets.push(reader.pos, reader.pos + length);
        reader.pos += length;
      } else {
        reader.skip(wireType, number);
        rest.push(bytes.subarray(fieldStart, reader.pos));
      }
    }
  } catch {
    return undefined;
  }
  if (reader.pos !== reader.len) return undefined;
  return { rest: Buffer.concat(rest), headLength, offsets: Uint32Array.from(offsets) };
}
