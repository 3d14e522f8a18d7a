import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { errorMessage } from '../../util/error-message';
import { ReadLimitError, type ReadBudget } from '../../util/read-budget';
import type { Violations } from '../../util/violations';
import type { TypedBytes } from '../extension-points';

/** The reading half of a generated message codec. */
export interface MessageDecoder<T> {
  /** @throws when the bytes up to the length are not a message, or the budget is exceeded. */
  decode(input: BinaryReader, length: number, budget: ReadBudget): T;
}

/** A message type that an Any may hold. */
export interface AnyType<T> {
  /** Full name, such as `envoy.config.cluster.v3.Cluster`. */
  readonly typeName: string;
  readonly decoder: MessageDecoder<T>;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Creates a reader that rejects text that is not UTF-8, as proto3 demands. A lenient one would read different malformed
 * names as the same one.
 */
function createReader(bytes: Uint8Array): BinaryReader {
  return new BinaryReader(bytes, (text) => utf8.decode(text));
}

/** Decodes a message within the budget of the cursor. @returns `undefined` after adding a violation. */
export function decodeMessage<T>(
  decoder: MessageDecoder<T>,
  bytes: Uint8Array,
  violations: Violations,
): T | undefined {
  try {
    const reader = createReader(bytes);
    return decoder.decode(reader, reader.len, violations.budget);
  } catch (error) {
    if (error instanceof ReadLimitError) {
      return (error.path === '' ? violations : violations.at(error.path)).add(error.reason);
    }
    return violations.add(`malformed message: ${errorMessage(error)}`);
  }
}

/** Visits the fields of a message, but not those within them. Throws if there are other bytes. */
function forEachField(
  reader: BinaryReader,
  visit: (number: number, wireType: WireType, reader: BinaryReader) => void,
): void {
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    visit(number, wireType, reader);
  }
}

/** Returns the full name of the message type of a type URL. */
export function typeNameOf(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
}

/** Decodes an Any that must be present and of one type. @returns `undefined` after adding a violation. */
export function unpackAny<T>(
  any: TypedBytes | undefined,
  type: AnyType<T>,
  violations: Violations,
): T | undefined {
  if (any === undefined) return violations.add('field not present');
  const actual = typeNameOf(any.typeUrl);
  if (actual !== type.typeName) {
    const found = actual === '' ? 'a message without a type' : actual;
    return violations.add(`must be ${type.typeName}, not ${found}`);
  }
  return decodeMessage(type.decoder, any.value, violations);
}

/**
 * Reads the text in one field of a message and skips all others, without decoding them.
 *
 * @returns the same as decoding: the last occurrence, or empty text; `undefined` if malformed.
 */
export function peekText(bytes: Uint8Array, field: number): string | undefined {
  let text = '';
  try {
    forEachField(createReader(bytes), (number, wireType, reader) => {
      if (number === field && wireType === WireType.LengthDelimited) text = reader.string();
      else reader.skip(wireType, number);
    });
    return text;
  } catch {
    return undefined;
  }
}

/** Returns the name of an enum value, or its number if this client's schema does not have it. */
export function enumName(
  names: { readonly [value: number]: string | undefined },
  value: number,
): string {
  return names[value] ?? String(value);
}
