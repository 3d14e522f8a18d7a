import { TypedStruct as UdpaTypedStruct } from '../../wire/generated/udpa/type/v1/typed_struct';
import { TypedStruct as XdsTypedStruct } from '../../wire/generated/xds/type/v3/typed_struct';
import type { Violations } from '../../util/violations';
import type { TypedBytes } from '../extension-points';
import { decodeMessage, typeNameOf } from './any';
import { structToJson, type JsonObject } from './struct-json-parser';

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
