import type { SplitMessage } from '../../wire/protobuf/encoded-elements';
import { FieldScanner } from '../../wire/protobuf/field-scanner';

/** An encoded message, and where the elements of one repeated message field are in it: one after the other. */
export interface SlicedMessage {
  readonly bytes: Buffer;
  /** Where each element begins and ends: pairs, in order. Between two there is only the tag of the next one. */
  readonly offsets: Uint32Array;
  /** The number of bytes before the tag of the first element. */
  readonly headLength: number;
}

/** Returns the elements of a message that is split; `undefined` if other fields are between them. */
export function toSlices(
  bytes: Buffer,
  { bounds, rest, headLength }: SplitMessage,
): SlicedMessage | undefined {
  const end = bounds.at(-1) ?? headLength;
  const isContiguous = rest.length === headLength + bytes.length - end;
  return isContiguous ? { bytes, offsets: new Uint32Array(bounds), headLength } : undefined;
}

/** Where the tag of an element is, or the end of the last one. */
export function elementStart({ offsets, headLength }: SlicedMessage, element: number): number {
  return element === 0 ? headLength : (offsets[2 * element - 1] ?? headLength);
}

/** All fields but the elements. */
export function restOf(sliced: SlicedMessage): Buffer {
  const { bytes, offsets, headLength } = sliced;
  const tail = bytes.subarray(elementStart(sliced, offsets.length / 2));
  return Buffer.concat([bytes.subarray(0, headLength), tail]);
}

/** Some elements of a message: those of the previous version from one up to another, or one with other bytes. */
export type SlicePart =
  | { readonly kind: 'kept'; readonly from: number; readonly to: number }
  | { readonly kind: 'new'; readonly start: number; readonly end: number };

/** The elements of a message that is not compared with another one. */
export function allNew(bounds: readonly number[]): readonly SlicePart[] {
  const parts: SlicePart[] = [];
  for (let i = 0; i < bounds.length; i += 2) {
    parts.push({ kind: 'new', start: bounds[i] ?? 0, end: bounds[i + 1] ?? 0 });
  }
  return parts;
}

/** Returns the number of bytes before the first element; `undefined` if they are malformed. */
export function readHeadLength(bytes: Uint8Array, field: number): number | undefined {
  const scanner = new FieldScanner(bytes);
  try {
    while (scanner.next()) if (scanner.number === field) return scanner.tagStart;
  } catch {
    return undefined;
  }
  return bytes.length;
}
