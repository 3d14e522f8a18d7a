import { BinaryReader } from '@bufbuild/protobuf/wire';
import { splitMessage, type SplitMessage } from '../../wire/protobuf/encoded-elements';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { errorMessage } from '../../util/errors';
import { LIST_LIMIT, MAX_TEXT_BYTES } from '../../util/limits';
import { ReadBudget, ReadLimitError } from '../../util/read-budget';
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

/**
 * Rejects text that is not UTF-8, as proto3 demands. A lenient decoder would read different malformed names as the same one.
 */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const decodeText = (text: Uint8Array): string => utf8.decode(text);

/** Decodes a message within the budget of the cursor. @returns `undefined` after adding a violation. */
export function decodeMessage<T>(
  decoder: MessageDecoder<T>,
  bytes: Uint8Array,
  violations: Violations,
): T | undefined {
  try {
    const reader = new BinaryReader(bytes, decodeText);
    return decoder.decode(reader, reader.len, violations.budget);
  } catch (error) {
    if (error instanceof ReadLimitError) {
      return (error.path === '' ? violations : violations.at(error.path)).add(error.reason);
    }
    return violations.add(`malformed message: ${errorMessage(error)}`);
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
  const bytes = checkAny(any, type, violations);
  return bytes && decodeMessage(type.decoder, bytes, violations);
}

/** Returns the message in an Any that must be present and of one type, encoded; `undefined` after adding a violation. */
export function checkAny(
  any: TypedBytes | undefined,
  type: AnyType<unknown>,
  violations: Violations,
): Uint8Array | undefined {
  if (any === undefined) return violations.add('field not present');
  const actual = typeNameOf(any.typeUrl);
  if (actual !== type.typeName) {
    const found = actual === '' ? 'a message without a type' : actual;
    return violations.add(`must be ${type.typeName}, not ${found}`);
  }
  return any.value;
}

/**
 * Reads the text in one field of a message and passes over all others, without decoding them.
 *
 * @returns the same as decoding: the last occurrence, or empty text; `undefined` if malformed. Where there are more fields than
 * are read, decoding fails, and the occurrence before the limit names what is rejected; `undefined` if there is none.
 */
export function peekText(bytes: Uint8Array, field: number): string | undefined {
  const scanner = new FieldScanner(bytes, new ReadBudget(LIST_LIMIT));
  let start = 0;
  let end = 0;
  try {
    while (scanner.next()) {
      if (!scanner.isDelimited(field)) continue;
      ({ start, end } = scanner);
    }
  } catch (error) {
    if (!(error instanceof ReadLimitError) || end === 0) return undefined;
  }
  if (end - start > MAX_TEXT_BYTES) return undefined;
  try {
    return decodeText(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}

/** A repeated message field whose elements are decoded one by one. */
export interface PieceField {
  readonly number: number;
  /** As in the schema. */
  readonly name: string;
}

/** The elements of a repeated message field, encoded, and the rest of the message, decoded. */
export interface MessagePieces<T> extends SplitMessage {
  /** Without the elements. */
  readonly message: T;
}

/**
 * Decodes a message without the elements of one repeated message field, which are decoded one by one, each within the budget of
 * one message. @returns `undefined` after adding a violation.
 */
export function decodePieces<T>(
  decoder: MessageDecoder<T>,
  bytes: Uint8Array,
  field: PieceField,
  violations: Violations,
): MessagePieces<T> | undefined {
  try {
    const budget = new ReadBudget(LIST_LIMIT, violations.budget.whole);
    const { bounds, rest, headLength } = splitMessage(bytes, field.number, budget);
    const message = decodeMessage(decoder, rest, violations);
    return message && { bounds, rest, headLength, message };
  } catch (error) {
    if (error instanceof ReadLimitError) return violations.at(field.name).add(error.reason);
    return violations.add(`malformed message: ${errorMessage(error)}`);
  }
}
