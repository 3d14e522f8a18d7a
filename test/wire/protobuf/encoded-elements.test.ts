import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { EncodedElements, splitMessage } from '../../../src/wire/protobuf/encoded-elements';

const FIELD = 2;

/** A message that has other fields around its elements. */
function encode(...elements: Uint8Array[]): Buffer {
  const writer = new BinaryWriter().tag(1, 2).string('before');
  for (const [index, element] of elements.entries()) {
    writer.tag(FIELD, 2).bytes(element);
    if (index === 0) writer.tag(3, 0).uint32(300).tag(FIELD, 0).uint32(7);
  }
  return Buffer.from(writer.tag(9, 5).fixed32(1).finish());
}

/** The elements of a message. */
function elementsOf(message: Buffer): EncodedElements {
  return new EncodedElements(message, splitMessage(message, FIELD).bounds);
}

describe('splitMessage', () => {
  it('takes the elements of a field out, and leaves every other field', () => {
    const [one, two] = [Buffer.from('one'), Buffer.from('two')];
    const message = encode(one, two);
    const elements = elementsOf(message);
    const { rest } = splitMessage(message, FIELD);
    expect([elements.length, elements.at(0), elements.at(1)]).toEqual([2, one, two]);
    // The number of the field with another wire type is a field that is not known.
    const expected = new BinaryWriter().tag(1, 2).string('before').tag(3, 0).uint32(300);
    expect(rest).toEqual(
      Buffer.from(expected.tag(FIELD, 0).uint32(7).tag(9, 5).fixed32(1).finish()),
    );
  });

  it.each<[string, number[]]>([
    ['is longer than the message', [0x12, 5, 1]],
    ['is longer than any message', [0x12, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]],
    ['has no length', [0x12]],
    ['has a length that is cut off', [0x12, 0x80]],
    ['follows a field that is cut off', [0x0a, 3, 1]],
  ])('throws for an element that %s', (_case, bytes) => {
    expect(() => splitMessage(Buffer.from(bytes), FIELD)).toThrow('premature EOF');
  });
});

describe('an encoded element', () => {
  const head = Buffer.from('head');
  const element = (value: Uint8Array) =>
    Buffer.concat([head, new BinaryWriter().bytes(value).finish()]);

  it.each([1, 127, 128, 300, 16_383, 16_384, 70_000])(
    'consists of a head and %d bytes if it has these and nothing else',
    (length) => {
      const value = Buffer.alloc(length, 'x');
      const longer = Buffer.alloc(length + 1, 'x');
      const elements = elementsOf(
        encode(
          element(value),
          element(longer),
          Buffer.concat([element(value), head]),
          Buffer.concat([head, value]),
          element(Buffer.alloc(length, 'y')),
          Buffer.concat([Buffer.from('heat'), element(value).subarray(head.length)]),
        ),
      );
      const consists = [0, 1, 2, 3, 4, 5].map((i) => elements.consistsOf(i, head, value));
      expect(consists).toEqual([true, false, false, false, false, false]);
    },
  );

  it('does not consist of what is outside of it', () => {
    const elements = elementsOf(encode(Buffer.from('x'), Buffer.of()));
    expect(elements.consistsOf(1, Buffer.of(), Buffer.from('x'))).toBe(false);
    expect(elements.consistsOf(0, head, Buffer.alloc(100))).toBe(false);
    expect(elements.consistsOf(2, Buffer.of(), Buffer.of())).toBe(false);
  });
});
