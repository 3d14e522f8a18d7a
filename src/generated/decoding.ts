/* eslint-disable */
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** A reader that knows how many messages around the present one are being read. */
interface NestingReader extends BinaryReader {
  depth?: number;
}

/** Begins a message. */
export function enter(input: BinaryReader | Uint8Array): BinaryReader {
  const reader: NestingReader = input instanceof BinaryReader ? input : new BinaryReader(input);
  const depth = (reader.depth ?? 0) + 1;
  if (depth > 100) throw new Error("protobuf decode recursion limit exceeded");
  reader.depth = depth;
  return reader;
}

/** Ends a message, which must end where its length says. */
export function leave(reader: NestingReader, end: number): void {
  if (reader.pos !== end) throw new RangeError("message does not end where it should");
  reader.depth = (reader.depth ?? 1) - 1;
}

/** Passes over a field that is not known. */
export function skip(reader: BinaryReader, tag: number): void {
  if ((tag & 7) === 4 || tag === 0) throw new RangeError("invalid tag");
  reader.skip(tag & 7);
}
