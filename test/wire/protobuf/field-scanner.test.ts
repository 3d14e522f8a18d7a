import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { FieldScanner } from '../../../src/wire/protobuf/field-scanner';
import { HttpProtocolOptions } from '../../../src/wire/generated/envoy/config/core/v3/protocol';
import { ReadBudget } from '../../../src/util/read-budget';

/** Group 7, which has a number, a group and a text in it. */
const GROUP = [0x3b, 0x08, 1, 0x43, 0x10, 2, 0x44, 0x1a, 1, 0x61, 0x3c];

function scan(bytes: Uint8Array, budget?: ReadBudget): (readonly number[])[] {
  const scanner = new FieldScanner(bytes, budget);
  const fields: (readonly number[])[] = [];
  while (scanner.next()) {
    const { number, wireType, tagStart, start, end } = scanner;
    fields.push([number, wireType, tagStart, start, end]);
  }
  return fields;
}

describe('FieldScanner', () => {
  it('finds fields of every wire type, and where their values are', () => {
    const writer = new BinaryWriter().tag(1, 0).uint32(300).tag(2, 1).fixed64(1n);
    writer.tag(3, 2).string('abc').tag(4, 5).fixed32(1).tag(1000, 2).bytes(new Uint8Array(200));
    const bytes = Buffer.concat([writer.finish(), Buffer.from(GROUP)]);
    const texts = scan(bytes).map(([number, wireType, , start, end]) => [
      number,
      wireType,
      (end ?? 0) - (start ?? 0),
    ]);
    expect(texts).toEqual([
      [1, WireType.Varint, 2],
      [2, WireType.Bit64, 8],
      [3, WireType.LengthDelimited, 3],
      [4, WireType.Bit32, 4],
      [1000, WireType.LengthDelimited, 200],
      [7, WireType.StartGroup, GROUP.length - 1],
    ]);
  });

  it('reads numbers of 64 bits', () => {
    const bytes = new BinaryWriter().tag(1, 0).int64(-1n).tag(2, 0).bool(true).finish();
    expect(scan(bytes).map(([number]) => number)).toEqual([1, 2]);
  });

  it.each<[string, number[]]>([
    ['a tag that is cut off', [0x80]],
    ['a tag without a field', [0x00]],
    ['a wire type that does not exist', [0x0f]],
    ['the end of a group that did not begin', [0x0c]],
    ['a group that does not end', [0x0b, 0x08, 1]],
    ['a group that ends as another one', [0x0b, 0x14]],
    ['a text that is cut off', [0x0a, 5, 1]],
    ['a number that is cut off', [0x08, 0x80]],
    ['a fixed number that is cut off', [0x0d, 1, 2]],
    ['groups in groups without end', Array<number>(1000).fill(0x0b)],
  ])('throws for %s', (_case, bytes) => {
    expect(() => scan(Uint8Array.from(bytes))).toThrow(RangeError);
    // The codec does not accept it either.
    expect(() => HttpProtocolOptions.decode(Uint8Array.from(bytes))).toThrow();
  });

  it('counts fields, also those in groups, against the budget', () => {
    const limit = { maxFields: 6, scope: 'message' };
    const bytes = Buffer.from([...GROUP, 0x08, 1]);
    expect(scan(bytes)).toHaveLength(2);
    expect(() => scan(bytes, new ReadBudget(limit))).toThrow('more than 6 fields in one message');
    const decode = () => HttpProtocolOptions.decode(bytes, undefined, new ReadBudget(limit));
    expect(decode).toThrow('more than 6 fields in one message');
  });
});
