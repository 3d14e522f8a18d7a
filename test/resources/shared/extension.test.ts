import { TypedStruct as UdpaTypedStruct } from '../../../src/wire/generated/udpa/type/v1/typed_struct';
import { TypedStruct } from '../../../src/wire/generated/xds/type/v3/typed_struct';
import { readExtension } from '../../../src/resources/shared/extension-parser';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../decode-json';

function read(typeUrl: string, value: Uint8Array) {
  const violations = Violations.root();
  const extension = readExtension({ typeUrl, value }, violations.at('typed_config'));
  return { extension, violations: violations.all };
}

describe('the config of an extension', () => {
  it('is its own message', () => {
    const value = Uint8Array.of(1, 2);
    expect(read('type.googleapis.com/acme.Filter', value)).toEqual({
      extension: { kind: 'message', typeName: 'acme.Filter', bytes: value },
      violations: [],
    });
  });

  it.each(['xds.type.v3.TypedStruct', 'udpa.type.v1.TypedStruct'])(
    'may be JSON in a %s',
    (typedStruct) => {
      const json = JSON.parse(
        '{"a":1.5,"b":[true,null,"x"],"c":{"constructor":{},"__proto__":{"d":2}}}',
      );
      const value = encodeMessage(typedStruct, { type_url: 'x.com/acme.Filter', value: json });
      const { extension, violations } = read(`type.googleapis.com/${typedStruct}`, value);
      expect(violations).toEqual([]);
      if (extension?.kind !== 'json') throw new Error(extension?.kind);
      expect(extension.typeName).toBe('acme.Filter');
      expect(JSON.parse(JSON.stringify(extension.json))).toEqual(json);
      expect(JSON.stringify(extension.json)).toContain('"__proto__":{"d":2}');
    },
  );

  it('may be JSON without a value', () => {
    const value = TypedStruct.encode(TypedStruct.create({ typeUrl: 'acme.Filter' })).finish();
    expect(read('type.googleapis.com/xds.type.v3.TypedStruct', value).extension).toEqual({
      kind: 'json',
      typeName: 'acme.Filter',
      json: {},
    });
  });

  it.each<[string, string, Uint8Array, string]>([
    ['has no type', '', new Uint8Array(0), 'typed_config: must have a type'],
    [
      'stands for no type',
      'x/udpa.type.v1.TypedStruct',
      UdpaTypedStruct.encode(UdpaTypedStruct.create({ typeUrl: 'x/' })).finish(),
      'typed_config.type_url: must name a message type',
    ],
    [
      'is malformed',
      'x/xds.type.v3.TypedStruct',
      Uint8Array.of(0x0a, 0x01),
      'typed_config: malformed message: premature EOF',
    ],
  ])('is refused if it %s', (_case, typeUrl, value, expected) => {
    expect(read(typeUrl, value)).toEqual({ extension: undefined, violations: [expected] });
  });

  it('is refused if it is missing', () => {
    const violations = Violations.root();
    expect(readExtension(undefined, violations.at('typed_config'))).toBeUndefined();
    expect(violations.all).toEqual(['typed_config: field not present']);
  });

  it('is refused if it is nested without end', () => {
    let struct = { fields: new Map() };
    for (let depth = 0; depth < 500; depth++) {
      struct = { fields: new Map([['x', { kind: { $case: 'structValue', value: struct } }]]) };
    }
    const value = TypedStruct.encode({ typeUrl: 'acme.Filter', value: struct }).finish();
    expect(read('x/xds.type.v3.TypedStruct', value).violations).toEqual([
      'typed_config: malformed message: protobuf decode recursion limit exceeded',
    ]);
  });
});
