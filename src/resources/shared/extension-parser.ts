import { assertNever } from '../../util/errors';
import type { Violations } from '../../util/violations';
import type { Struct, Value } from '../../wire/generated/google/protobuf/struct';
import { TypedStruct as UdpaTypedStruct } from '../../wire/generated/udpa/type/v1/typed_struct';
import { TypedStruct as XdsTypedStruct } from '../../wire/generated/xds/type/v3/typed_struct';
import type { TypedBytes } from '../extension-points';
import { decodeMessage, typeNameOf } from './any';

/** The config of an extension, either as its own message or as JSON. */
export type ExtensionConfig =
  | { readonly kind: 'message'; readonly typeName: string; readonly bytes: Uint8Array }
  | { readonly kind: 'json'; readonly typeName: string; readonly json: JsonObject };

const typedStructs = new Map([
  ['xds.type.v3.TypedStruct', XdsTypedStruct],
  ['udpa.type.v1.TypedStruct', UdpaTypedStruct],
]);

/**
 * Reads the config of an extension. A TypedStruct has the type of its inner `type_url` (gRFC A39).
 *
 * @returns `undefined` after adding a violation.
 */
export function readExtension(
  config: TypedBytes | undefined,
  violations: Violations,
): ExtensionConfig | undefined {
  if (config === undefined) return violations.add('field not present');
  const typeName = typeNameOf(config.typeUrl);
  if (typeName === '') return violations.add('must have a type');
  const decoder = typedStructs.get(typeName);
  if (decoder === undefined) return { kind: 'message', typeName, bytes: config.value };
  const struct = decodeMessage(decoder, config.value, violations);
  if (struct === undefined) return undefined;
  const innerName = typeNameOf(struct.typeUrl);
  if (innerName === '') return violations.at('type_url').add('must name a message type');
  const json = struct.value === undefined ? {} : structToJson(struct.value);
  return { kind: 'json', typeName: innerName, json };
}

/** A JSON object, whatever its members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns a `google.protobuf.Struct` as a JSON object. */
export function structToJson(struct: Struct): JsonObject {
  // `fromEntries` defines members, also one called `__proto__`.
  return Object.fromEntries([...struct.fields].map(([name, value]) => [name, valueToJson(value)]));
}

function valueToJson({ kind }: Value): unknown {
  switch (kind?.$case) {
    case undefined:
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'numberValue':
    case 'stringValue':
      return kind.value;
    case 'listValue':
      return kind.value.values.map(valueToJson);
    case 'structValue':
      return structToJson(kind.value);
    default:
      return assertNever(kind);
  }
}
