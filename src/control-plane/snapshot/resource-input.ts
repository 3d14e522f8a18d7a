import type { JsonObject } from '@bufbuild/protobuf';
import { Resource } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { encodeJson, type EncodeOptions } from '../../wire/proto-json/encode-json';
import { describeJson } from '../../wire/proto-json/explain-json';
import { isJsonObject } from '../../wire/proto-json/json-object';
import type { JsonProblem } from '../../wire/proto-json/json-problem';
import { errorMessage } from '../../util/errors';
import { err, ok, type Result } from '../../util/result';
import { findResourceKind, otherResourceKind, typeUrlOf, type ResourceKind } from '../resource';
import { readName, type ResourceOptions } from './encoded-resource';

/** An encoded resource, for messages that JSON cannot express or that are invalid on purpose. */
export interface EncodedResource {
  /** The type of the list that holds it; in the list `resources`, any type, also one without a schema in this server. */
  readonly typeUrl: string;
  readonly value: Uint8Array;
  /** Default: the name in `value`. Required if `value` is not a valid message or its type is unknown. */
  readonly name?: string;
  /** The version clients receive. Default: a digest of the resource. */
  readonly version?: string;
  /** Other names under which incremental clients may request the resource. Default: none. */
  readonly aliases?: readonly string[];
  /** Time to live without a heartbeat, in milliseconds. Default: the resource does not expire. */
  readonly ttlMs?: number;
}

/**
 * A resource, or a part of one, as a plain object in proto3 JSON, the format of Envoy's configuration. Field names are as in the
 * .proto files, or in lowerCamelCase. It may be in a wrapper of the type `envoy.service.discovery.v3.Resource`, which sets its
 * version, aliases, time to live, and the name of a resource whose type has no name field.
 *
 * The type is loose, so that objects of any declared type are accepted; `Snapshot.from` checks each field.
 */
export type ResourceJson = object;

/** A resource as proto3 JSON or as bytes. */
export type ResourceInput = ResourceJson | EncodedResource;

/** A valid input. */
export interface ParsedResource {
  readonly kind: ResourceKind;
  readonly options: ResourceOptions;
}

/** The problems of an invalid input. */
export interface InputFailure {
  /** The name of the resource; absent if it could not be read. */
  readonly name?: string;
  readonly problems: readonly JsonProblem[];
}

type Parsed = Result<ParsedResource, InputFailure>;

const wrapperName = 'envoy.service.discovery.v3.Resource';
const wrapperUrl = typeUrlOf(wrapperName);

/**
 * Parses one input.
 *
 * @param expected The kind of its list; undefined if the input has its own type.
 */
export function parseResourceInput(
  expected: ResourceKind | undefined,
  item: unknown,
  options: EncodeOptions,
): Parsed {
  if (isEncodedResource(item)) return parseBytes(expected, item);
  if (!isJsonObject(item)) return fail([], `expected an object, got ${describeJson(item)}`);
  if (item['@type'] === wrapperUrl) return parseWrapper(expected, item, options);
  return parseJson(expected, item, options);
}

/** Returns the resource in a JSON wrapper; undefined if the input is not a wrapper. */
export function unwrapJson(item: JsonObject): JsonObject | undefined {
  return item['@type'] === wrapperUrl && isJsonObject(item.resource) ? item.resource : undefined;
}

function fail(path: JsonProblem['path'], reason: string): Result<never, InputFailure> {
  return err({ problems: [{ path, reason }] });
}

function isEncodedResource(item: unknown): item is EncodedResource {
  return (
    typeof item === 'object' && item !== null && 'value' in item && item.value instanceof Uint8Array
  );
}

function parseBytes(expected: ResourceKind | undefined, item: EncodedResource): Parsed {
  const kind = resolveKind(expected, item.typeUrl, 'typeUrl', item.name !== undefined);
  if (!kind.ok) return kind;
  const { value, version, aliases, ttlMs } = item;
  if (ttlMs !== undefined && !(ttlMs > 0)) return fail(['ttlMs'], 'must be more than 0');
  const name = item.name ?? nameIn(kind.value, value);
  if (typeof name !== 'string') return name;
  return ok({ kind: kind.value, options: { name, value, version, aliases, ttlMs } });
}

function nameIn(kind: ResourceKind, value: Uint8Array): string | Result<never, InputFailure> {
  try {
    const name = readName(kind, value);
    return name === '' ? fail(['value'], 'the resource has no name') : name;
  } catch (error) {
    const reason = `cannot be decoded (${errorMessage(error)}); give a name to serve it anyway`;
    return fail(['value'], reason);
  }
}

/** Parses a `Resource` wrapper, which Envoy's file subscriptions also accept. */
function parseWrapper(
  expected: ResourceKind | undefined,
  item: JsonObject,
  jsonOptions: EncodeOptions,
): Parsed {
  const { resource, ...rest } = item;
  delete rest['@type'];
  const encoded = encodeJson(wrapperName, rest, jsonOptions);
  if (!encoded.ok) return err({ problems: encoded.error });
  const wrapper = Resource.decode(encoded.value);
  if (!isJsonObject(resource)) {
    return fail(['resource'], `expected an object, got ${describeJson(resource)}`);
  }
  const ttlMs =
    wrapper.ttl && Number(wrapper.ttl.seconds) * 1000 + Math.round(wrapper.ttl.nanos / 1e6);
  if (ttlMs !== undefined && ttlMs <= 0) return fail(['ttl'], 'must be more than 0');
  const { onEnvoyField } = jsonOptions;
  const innerOptions: EncodeOptions = {
    ...jsonOptions,
    onEnvoyField: (field) => onEnvoyField?.({ ...field, path: ['resource', ...field.path] }),
  };
  const parsed = parseJson(expected, resource, innerOptions, wrapper.name);
  if (!parsed.ok) {
    const problems = parsed.error.problems.map((problem) => ({
      ...problem,
      path: ['resource', ...problem.path],
    }));
    return err({ ...parsed.error, problems });
  }
  const { kind, options } = parsed.value;
  const version = wrapper.version === '' ? undefined : wrapper.version;
  return ok({ kind, options: { ...options, version, aliases: wrapper.aliases, ttlMs } });
}

function parseJson(
  expected: ResourceKind | undefined,
  item: JsonObject,
  options: EncodeOptions,
  explicitName = '',
): Parsed {
  const { '@type': typeUrl, ...content } = item;
  if (expected === undefined && typeUrl === undefined) return fail([], '"@type" is missing');
  const resolved = resolveKind(expected, typeUrl, '@type', explicitName !== '');
  if (!resolved.ok) return resolved;
  const kind = resolved.value;
  const value = encodeContent(kind, content, options);
  const ownName = content[kind.nameField.proto] ?? content[kind.nameField.json];
  const name = explicitName === '' ? ownName : explicitName;
  if (typeof name !== 'string' || name === '') {
    const problems = value.ok ? [] : value.error;
    const isReported = problems.some((problem) => problem.path[0] === kind.nameField.proto);
    const missing = { path: [kind.nameField.proto], reason: 'field not present' };
    return err({ problems: isReported ? problems : [missing, ...problems] });
  }
  if (!value.ok) return err({ name, problems: value.error });
  return ok({ kind, options: { name, value: value.value } });
}

function encodeContent(
  kind: ResourceKind,
  content: JsonObject,
  options: EncodeOptions,
): Result<Uint8Array, readonly JsonProblem[]> {
  try {
    return encodeJson(kind.messageName, content, options);
  } catch (error) {
    // A type without a schema can be given as bytes only.
    return err([{ path: ['@type'], reason: errorMessage(error) }]);
  }
}

/** Returns the kind of a resource, from its list or its type. If both are given, they must agree. */
function resolveKind(
  expected: ResourceKind | undefined,
  typeUrl: unknown,
  field: string,
  isNamed: boolean,
): Result<ResourceKind, InputFailure> {
  if (expected !== undefined && (typeUrl === undefined || typeUrl === expected.typeUrl)) {
    return ok(expected);
  }
  if (expected !== undefined) {
    return fail([field], `expected "${expected.typeUrl}", got ${describeJson(typeUrl)}`);
  }
  if (typeof typeUrl === 'string') {
    const kind = isNamed ? otherResourceKind(typeUrl) : findResourceKind(typeUrl);
    if (kind !== undefined) return ok(kind);
  }
  return fail([field], `unknown resource type ${describeJson(typeUrl)}`);
}
