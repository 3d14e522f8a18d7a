import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** An encoded message, and where the elements of one repeated message field are in it: one after the other. */
export interface SlicedMessage {
  readonly bytes: Buffer;
  /** Where each element begins and ends: pairs, in order. Between two there is only the tag of the next one. */
  readonly offsets: Uint32Array;
  /** The number of bytes before the tag of the first element. */
  readonly headLength: number;
}

/** Finds the elements; `undefined` if other fields are between them, or the bytes are malformed. */
export function sliceMessage(bytes: Buffer, field: number): SlicedMessage | undefined {
  const split = splitMessage(bytes, field);
  if (split === undefined) return undefined;
  const { offsets, rest, headLength } = split;
  const end = offsets.at(-1) ?? headLength;
  const isContiguous = rest.length === headLength + bytes.length - end;
  return isContiguous ? { bytes, offsets, headLength } : undefined;
}

/** Where the tag of an element is, or the end of the last one. */
export function elementStart({ offsets, headLength }: SlicedMessage, element: number): number {
  return element === 0 ? headLength : (offsets[2 * element - 1] ?? headLength);
}

/** All fields but the elements. */
export function restOf(sliced: SlicedMessage): Uint8Array {
  const { bytes, offsets, headLength } = sliced;
  const tail = bytes.subarray(elementStart(sliced, offsets.length / 2));
  return Buffer.concat([bytes.subarray(0, headLength), tail]);
}

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
