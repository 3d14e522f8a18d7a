import {
  createFileRegistry,
  fromBinary,
  ScalarType,
  toBinary,
  type DescField,
  type DescMessage,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { descriptorSet } from '../../../src/wire/generated/descriptor-set';
import { MessageCodec } from '../../../src/wire/protobuf/message-codec';
import { loadMessageTypes } from '../../amplify/message-types';

// The encoding demands that a message that occurs again in a field is merged into the one before; an independent parser judges.

const LENGTH_DELIMITED = WireType.LengthDelimited;
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')),
);

const field = (number: number, bytes: Uint8Array) =>
  new BinaryWriter().tag(number, LENGTH_DELIMITED).bytes(bytes).finish();

/** Encodes a field that has a value, another one in each variant; none for numbers. */
function sample(desc: DescField, variant: number): readonly Uint8Array[] {
  const text = Buffer.from(`text ${variant}`);
  const { number } = desc;
  if (desc.fieldKind === 'map') {
    // The other parser has a Struct as JSON, which has no value without a kind.
    const isJson = desc.parent.typeName === 'google.protobuf.Struct';
    const isMessage = desc.mapKind === 'message' && desc.mapKey === ScalarType.STRING && !isJson;
    const entry = Buffer.concat([field(1, text), field(2, Buffer.of())]);
    return isMessage ? [field(number, entry)] : [];
  }
  if (desc.message !== undefined) return [field(number, Buffer.of())];
  return desc.scalar === ScalarType.STRING ? [field(number, text)] : [];
}

/** Encodes messages of a type: each with one field, and one with all of the same variant. */
function samples(desc: DescMessage): readonly Uint8Array[] {
  const one = desc.fields.flatMap((each) => sample(each, 1));
  const two = desc.fields.flatMap((each) => sample(each, 2));
  return [Buffer.of(), Buffer.concat(one), Buffer.concat(two), ...one];
}

/** The fields that are one message each, also as members of a oneof or in a wrapper. */
const singular = [...loadMessageTypes()].flatMap(([name, codec]) => {
  const desc = registry.getMessage(name);
  const fields = desc?.fields.filter(({ fieldKind }) => fieldKind === 'message') ?? [];
  return fields.map((each) => ({ path: `${name}.${each.name}`, desc: each.parent, each, codec }));
});

describe('a message that occurs again in a field', () => {
  it.each(singular)('is merged into the one before: $path', ({ desc, each, codec }) => {
    if (!(codec instanceof MessageCodec) || each.message === undefined) throw new Error();
    const inner = samples(each.message);
    for (const [i, first] of inner.entries()) {
      const second = inner[(i + 2) % inner.length] ?? first;
      const bytes = Buffer.concat([field(each.number, first), field(each.number, second)]);
      const merged = toBinary(desc, fromBinary(desc, bytes));
      expect(codec.decode(bytes)).toEqual(codec.decode(merged));
    }
  });

  it('is judged for every field', () => {
    expect(singular.length).toBeGreaterThan(200);
  });
});
