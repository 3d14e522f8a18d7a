import {
  create,
  createFileRegistry,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
  type DescMessage,
  type FileRegistry,
  type JsonObject,
  type JsonValue,
  type Registry,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { descriptorSet } from '../generated/descriptor-set';
import { errorMessage } from '../../util/errors';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_UNKNOWN_TYPES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { explainJson, type ExplainOptions } from './explain-json';
import type { JsonProblem } from './json-problem';
import { redactMessage } from './redact-message';

/** Options of reading proto3-JSON. */
export interface JsonOptions {
  /**
   * Ignores fields and enum values that the schema of this package does not have, instead of rejecting them. Fields of
   * Envoy that gRPC clients do not read are always ignored. Default: false, to find typing errors.
   */
  readonly ignoreUnknownFields?: boolean | undefined;
}

/** Options of {@link encodeJson}. */
export interface EncodeOptions extends JsonOptions {
  /** Receives the fields of Envoy that were ignored. Not called with `ignoreUnknownFields`. Default: they are dropped. */
  readonly onEnvoyField?: ((field: JsonProblem) => void) | undefined;
  /**
   * Reads an `Any` of an unknown type as an empty message of that type, which the client then reports as unsupported,
   * instead of rejecting it. Default: false.
   */
  readonly keepUnknownTypes?: boolean | undefined;
}

let registry: FileRegistry | undefined;

/** Decodes the schema on first use: it takes some milliseconds, and most clients do not need it. */
function loadRegistry(): FileRegistry {
  registry ??= createFileRegistry(
    fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')),
  );
  return registry;
}

export function hasMessage(messageName: string): boolean {
  return loadRegistry().getMessage(messageName) !== undefined;
}

/** Redacts the secrets of an encoded message: see `redactMessage`. */
export function withoutSecrets(messageName: string, bytes: Uint8Array): Uint8Array | undefined {
  const desc = loadRegistry().getMessage(messageName);
  return desc && redactMessage(desc, bytes, loadRegistry());
}

/** Writes an encoded message as proto3-JSON, with the field names of the .proto file. */
export function decodeToJson(messageName: string, bytes: Uint8Array): JsonValue {
  const desc = findMessage(messageName);
  const options = { registry: loadRegistry(), useProtoFieldName: true };
  return toJson(desc, fromBinary(desc, bytes), options);
}

/**
 * Creates a registry with an empty message for every unknown type, up to {@link MAX_UNKNOWN_TYPES}.
 */
function withEveryType(known: FileRegistry): Registry {
  const created = new Map<string, DescMessage | undefined>();
  const findEmptyType = (typeName: string): DescMessage | undefined => {
    if (!created.has(typeName) && created.size < MAX_UNKNOWN_TYPES) {
      created.set(typeName, createEmptyType(typeName));
    }
    return created.get(typeName);
  };
  return {
    kind: 'registry',
    [Symbol.iterator]: () => known[Symbol.iterator](),
    get: (typeName) => known.get(typeName),
    getMessage: (typeName) => known.getMessage(typeName) ?? findEmptyType(typeName),
    getEnum: (typeName) => known.getEnum(typeName),
    getExtension: (typeName) => known.getExtension(typeName),
    getExtensionFor: (extendee, number) => known.getExtensionFor(extendee, number),
    getService: (typeName) => known.getService(typeName),
  };
}

const fullName = /^[a-z_]\w*(\.[a-z_]\w*)*$/i;

/** @returns `undefined` for an invalid name of a message. */
function createEmptyType(typeName: string): DescMessage | undefined {
  if (!fullName.test(typeName)) return undefined;
  const lastDot = typeName.lastIndexOf('.');
  const file = create(FileDescriptorProtoSchema, {
    name: `${typeName}.proto`,
    package: lastDot < 0 ? '' : typeName.slice(0, lastDot),
    messageType: [{ name: typeName.slice(lastDot + 1) }],
    syntax: 'proto3',
  });
  return createFileRegistry(file, () => undefined).getMessage(typeName);
}

function findMessage(messageName: string): DescMessage {
  const desc = loadRegistry().getMessage(messageName);
  if (desc === undefined) throw new Error(`no message ${messageName} in the schema`);
  return desc;
}

/**
 * Encodes a message written as proto3-JSON. Field names may be those of the .proto file or in lowerCamelCase; an `Any` is
 * an object with `@type`. Fields of Envoy that gRPC clients do not read are left out, as clients do on the wire.
 *
 * @returns the bytes, or all errors with their paths.
 */
export function encodeJson(
  messageName: string,
  json: JsonObject,
  options: EncodeOptions = {},
): Result<Uint8Array, readonly JsonProblem[]> {
  const desc = findMessage(messageName);
  const excess = new ValueCount().findExcess(json, MAX_JSON_DEPTH);
  if (excess !== undefined) return err([{ path: [], reason: excess }]);
  const readOptions = readOptionsOf(options);
  if (hasTrailingText(json)) {
    const { problems } = explainJson(desc, json, readOptions);
    if (problems.length > 0) return err(problems);
  }
  try {
    return ok(toBinary(desc, fromJson(desc, json, readOptions)));
  } catch (error) {
    return encodeWithoutEnvoyFields(
      desc,
      json,
      { ...options, ...readOptions },
      errorMessage(error),
    );
  }
}

function readOptionsOf({
  keepUnknownTypes = false,
  ignoreUnknownFields = false,
}: EncodeOptions): ExplainOptions {
  const known = loadRegistry();
  return { registry: keepUnknownTypes ? withEveryType(known) : known, ignoreUnknownFields };
}

/**
 * Encodes a message that the reader rejected, if that was because of fields of Envoy only. The reader stops at the first
 * error, without its path; the slow search finds all.
 */
function encodeWithoutEnvoyFields(
  desc: DescMessage,
  json: JsonObject,
  options: EncodeOptions & ExplainOptions,
  reason: string,
): Result<Uint8Array, readonly JsonProblem[]> {
  const { problems, envoyFields } = explainJson(desc, json, options);
  if (problems.length > 0) return err(problems);
  if (envoyFields.length === 0) return err([{ path: [], reason }]);
  try {
    // The types that are left without a problem are in the fields of servers, which reject them as unsupported.
    const readOptions = { registry: withEveryType(loadRegistry()), ignoreUnknownFields: true };
    const encoded = toBinary(desc, fromJson(desc, json, readOptions));
    for (const field of envoyFields) options.onEnvoyField?.(field);
    return ok(encoded);
  } catch (error) {
    return err([{ path: [], reason: errorMessage(error) }]);
  }
}

/** Counts the values of a message before they are read by recursive functions. */
class ValueCount {
  private count = 0;

  /** @returns which bound a value exceeds; `undefined` if it exceeds none. @param levels How many it may have. */
  findExcess(json: JsonValue, levels: number): string | undefined {
    if (++this.count > MAX_JSON_VALUES) return `more than ${MAX_JSON_VALUES} values`;
    if (typeof json !== 'object' || json === null) return undefined;
    if (levels === 0) return `nested more than ${MAX_JSON_DEPTH} levels deep`;
    for (const value of Object.values(json)) {
      const excess = this.findExcess(value, levels - 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  }
}

const textAfterDuration = /^-?\d+(\.\d+)?s./s;

/** Whether some text is like `1s500ms`, which the reader would accept as the duration `1s`. */
function hasTrailingText(json: JsonValue): boolean {
  if (typeof json === 'string') return textAfterDuration.test(json);
  if (typeof json !== 'object' || json === null) return false;
  return Object.values(json).some(hasTrailingText);
}
