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
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import { explainJson } from './explain-json';
import type { JsonProblem } from './json-problem';

/** How proto3-JSON is read. */
export interface JsonOptions {
  /**
   * Skips fields and enum values that the schema of this package does not have, instead of refusing
   * them. The schema holds what gRPC clients read, so configurations written for Envoy may need it.
   * Default false: a typing error is worth more than a skipped field.
   */
  readonly ignoreUnknownFields?: boolean | undefined;
}

/** How proto3-JSON from elsewhere is read. */
export interface EncodeOptions extends JsonOptions {
  /**
   * Takes an `Any` of a type that the schema does not have for an empty message of that type, which is enough to
   * find out that it is not supported, instead of refusing it. Default false.
   */
  readonly keepUnknownTypes?: boolean | undefined;
}

let registry: FileRegistry | undefined;

/** The schema, decoded on first use: it costs some milliseconds that a client never pays. */
function loadRegistry(): FileRegistry {
  registry ??= createFileRegistry(
    fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')),
  );
  return registry;
}

/** Whether the schema has a message. */
export function hasMessage(messageName: string): boolean {
  return loadRegistry().getMessage(messageName) !== undefined;
}

/** Writes an encoded message as proto3-JSON, with the field names of the .proto file. */
export function decodeToJson(messageName: string, bytes: Uint8Array): JsonValue {
  const desc = findMessage(messageName);
  const options = { registry: loadRegistry(), useProtoFieldName: true };
  return toJson(desc, fromBinary(desc, bytes), options);
}

/** Each unknown type costs as much as a hundred small messages; no configuration has so many types. */
const MAX_UNKNOWN_TYPES = 1000;

/**
 * A registry in which every message that is not in the given one is there and has no fields: of those, the first
 * thousand that are looked up.
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

/** @returns `undefined` for what cannot be the name of a message. */
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
 * Encodes a message written as proto3-JSON. Field names may be spelled as in the .proto file or in
 * lowerCamelCase; an `Any` is an object with `@type`.
 *
 * @returns the bytes, or everything that is wrong, each with its path.
 */
export function encodeJson(
  messageName: string,
  json: JsonObject,
  options: EncodeOptions = {},
): Result<Uint8Array, readonly JsonProblem[]> {
  if (isDeeperThan(MAX_LEVELS, json)) {
    return err([{ path: [], reason: `nested more than ${MAX_LEVELS} levels deep` }]);
  }
  const desc = findMessage(messageName);
  const known = loadRegistry();
  const readOptions = {
    registry: options.keepUnknownTypes === true ? withEveryType(known) : known,
    ignoreUnknownFields: options.ignoreUnknownFields ?? false,
  };
  if (holdsTrailingText(json)) {
    const problems = explainJson(desc, json, readOptions);
    if (problems.length > 0) return err(problems);
  }
  try {
    return ok(toBinary(desc, fromJson(desc, json, readOptions)));
  } catch (error) {
    // The reader stops at the first mistake and does not say where it was. Look again, slowly.
    const problems = explainJson(desc, json, readOptions);
    if (problems.length > 0) return err(problems);
    return err([{ path: [], reason: errorMessage(error) }]);
  }
}

/** What reads JSON calls itself for each level. Resources have a few dozen. */
const MAX_LEVELS = 200;

function isDeeperThan(levels: number, json: JsonValue): boolean {
  if (typeof json !== 'object' || json === null) return false;
  return levels === 0 || Object.values(json).some((value) => isDeeperThan(levels - 1, value));
}

const textAfterDuration = /^-?\d+(\.\d+)?s./s;

/** Whether some text looks like `1s500ms`, which the reader would take for the duration `1s`. */
function holdsTrailingText(json: JsonValue): boolean {
  if (typeof json === 'string') return textAfterDuration.test(json);
  if (typeof json !== 'object' || json === null) return false;
  return Object.values(json).some(holdsTrailingText);
}
