import type { Struct, Value } from '../../wire/generated/google/protobuf/struct';
import { assertNever } from '../../util/assert-never';

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
