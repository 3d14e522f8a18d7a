import type { Struct, Value } from '../generated/google/protobuf/struct';
import { assertNever } from '../util/assert-never';

/** What a client says of itself in free form: a JSON object. */
export type NodeMetadata = Readonly<Record<string, unknown>>;

/** Writes metadata as plain JSON. */
export function readMetadata(struct: Struct): NodeMetadata {
  // A member called `__proto__` must be a member like any other, which an assignment would not make it.
  return Object.fromEntries([...struct.fields].map(([key, value]) => [key, readValue(value)]));
}

function readValue({ kind }: Value): unknown {
  switch (kind?.$case) {
    case undefined:
    case 'nullValue':
      return null;
    case 'stringValue':
    case 'numberValue':
    case 'boolValue':
      return kind.value;
    case 'structValue':
      return readMetadata(kind.value);
    case 'listValue':
      return kind.value.values.map(readValue);
    default:
      return assertNever(kind);
  }
}
