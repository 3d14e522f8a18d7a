import { splitMessage } from './split-message';

/** An encoded message, and where the elements of one repeated message field are in it: one after the other. */
export interface SlicedMessage {
  readonly bytes: Buffer;
  /** Where each element begins and ends: pairs, in order. Between two there is only the tag of the next one. */
  readonly offsets: Uint32Array;
  /** How many bytes come before the tag of the first element. */
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
