import { splitMessage, type SplitMessage } from '../../wire/protobuf/encoded-elements';
import { LIST_LIMIT, ReadBudget } from '../../util/read-budget';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import type { Steps } from '../../util/steps';

/** Fields that are counted in one step. */
const FIELDS_PER_STEP = 4096;

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
  const split = trySplit(bytes, field);
  return split && toSlices(bytes, split);
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

function trySplit(bytes: Uint8Array, field: number): SplitMessage | undefined {
  try {
    return splitMessage(bytes, field);
  } catch {
    return undefined;
  }
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

/**
 * Counts the messages at a path of repeated message fields, such as the endpoints of all localities, without decoding
 * anything, in steps. Stops beyond `max`. Where the bytes are malformed it counts what comes before; decoding rejects them.
 */
export function* countElements(
  bytes: Uint8Array,
  path: readonly number[],
  max: number,
): Steps<number> {
  const [field = 0, ...below] = path;
  const scanner = new FieldScanner(bytes, new ReadBudget(LIST_LIMIT));
  let count = 0;
  try {
    while (count <= max && scanner.next()) {
      if (scanner.count % FIELDS_PER_STEP === 0) yield;
      if (!scanner.isDelimited(field)) continue;
      const { start, end } = scanner;
      if (below.length === 0) count++;
      else count += yield* countElements(bytes.subarray(start, end), below, max - count);
    }
  } catch {
    return count;
  }
  return count;
}
