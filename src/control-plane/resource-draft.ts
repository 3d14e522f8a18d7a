import type { JsonObject } from '@bufbuild/protobuf';
import { Resource } from '../generated/envoy/service/discovery/v3/discovery';
import { encodeJson, type JsonOptions } from '../proto-json/encode-json';
import { describeJson, isJsonObject } from '../proto-json/explain-json';
import type { JsonProblem } from '../proto-json/json-problem';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import { findResourceKind, otherResourceKind, typeUrlOf, type ResourceKind } from './resource-kind';
import type { ResourceParts } from './resource-set';

/** A resource in its wire form, for configurations the schema cannot express or that must be wrong. */
export interface EncodedResource {
  /**
   * Must be the type of the list it is in. In the list `resources` it may be any, also one that this server knows
   * nothing of.
   */
  readonly typeUrl: string;
  readonly value: Uint8Array;
  /** Default: the name inside the bytes. Needed when the bytes are not a valid message, or of a type not known. */
  readonly name?: string;
  /** What clients are told as the version. Default: a digest of the resource. */
  readonly version?: string;
  /** Other names under which incremental clients may ask for the resource. Default: none. */
  readonly aliases?: readonly string[];
  /** How long clients may use the resource without a heartbeat, in milliseconds. Default: for ever. */
  readonly ttlMs?: number;
}

/**
 * A resource: proto3-JSON as in Envoy's configuration, or encoded. JSON with the `@type` of
 * `envoy.service.discovery.v3.Resource` is a wrapper, with which a resource gets a version, aliases or a time to
 * live (`ttl`), and one of a type without names its name.
 */
export type ResourceInput = Readonly<Record<string, unknown>> | EncodedResource;

/** What an input says, before it is a resource. */
export interface ResourceDraft {
  readonly kind: ResourceKind;
  readonly parts: ResourceParts;
}

/** What is wrong with an input. */
export interface DraftFailure {
  /** The name of the resource, if it could be read. */
  readonly name?: string;
  readonly problems: readonly JsonProblem[];
}

type Outcome = Result<ResourceDraft, DraftFailure>;

const wrapperName = 'envoy.service.discovery.v3.Resource';
const wrapperUrl = typeUrlOf(wrapperName);

/**
 * Reads one input.
 *
 * @param expected What its list holds; undefined when the input has to say so.
 */
export function draftResource(
  expected: ResourceKind | undefined,
  item: unknown,
  options: JsonOptions,
): Outcome {
  if (isEncodedResource(item)) return draftFromBytes(expected, item);
  if (!isJsonObject(item)) return fail([], `expected an object, got ${describeJson(item)}`);
  if (item['@type'] === wrapperUrl) return draftFromWrapper(expected, item, options);
  return draftFromJson(expected, item, options);
}

/** What is inside a wrapper, as it stands there; undefined when the input is not one. */
export function unwrapJson(item: JsonObject): JsonObject | undefined {
  return item['@type'] === wrapperUrl && isJsonObject(item.resource) ? item.resource : undefined;
}

function fail(path: JsonProblem['path'], reason: string): Result<never, DraftFailure> {
  return err({ problems: [{ path, reason }] });
}

function isEncodedResource(item: unknown): item is EncodedResource {
  return (
    typeof item === 'object' && item !== null && 'value' in item && item.value instanceof Uint8Array
  );
}

function draftFromBytes(expected: ResourceKind | undefined, item: EncodedResource): Outcome {
  const kind = resolveKind(expected, item.typeUrl, 'typeUrl', item.name !== undefined);
  if (!kind.ok) return kind;
  const { value, version, aliases, ttlMs } = item;
  if (ttlMs !== undefined && !(ttlMs > 0)) return fail(['ttlMs'], 'must be more than 0');
  const name = item.name ?? readName(kind.value, value);
  if (typeof name !== 'string') return name;
  return ok({ kind: kind.value, parts: { name, value, version, aliases, ttlMs } });
}

function readName(kind: ResourceKind, value: Uint8Array): string | Result<never, DraftFailure> {
  try {
    const name = kind.readNameFromBytes(value);
    return name === '' ? fail(['value'], 'the resource has no name') : name;
  } catch (error) {
    const reason = `cannot be decoded (${errorMessage(error)}); give a name to serve it anyway`;
    return fail(['value'], reason);
  }
}

/** Reads a resource with what is known about it, as Envoy's files may have it, too. */
function draftFromWrapper(
  expected: ResourceKind | undefined,
  item: JsonObject,
  options: JsonOptions,
): Outcome {
  const { resource, ...rest } = item;
  delete rest['@type'];
  const encoded = encodeJson(wrapperName, rest, options);
  if (!encoded.ok) return err({ problems: encoded.error });
  const wrapper = Resource.decode(encoded.value);
  if (!isJsonObject(resource)) {
    return fail(['resource'], `expected an object, got ${describeJson(resource)}`);
  }
  const ttlMs =
    wrapper.ttl && Number(wrapper.ttl.seconds) * 1000 + Math.round(wrapper.ttl.nanos / 1e6);
  if (ttlMs !== undefined && ttlMs <= 0) return fail(['ttl'], 'must be more than 0');
  const draft = draftFromJson(expected, resource, options, wrapper.name);
  if (!draft.ok) {
    const problems = draft.error.problems.map((problem) => ({
      ...problem,
      path: ['resource', ...problem.path],
    }));
    return err({ ...draft.error, problems });
  }
  const { kind, parts } = draft.value;
  const version = wrapper.version === '' ? undefined : wrapper.version;
  return ok({ kind, parts: { ...parts, version, aliases: wrapper.aliases, ttlMs } });
}

function draftFromJson(
  expected: ResourceKind | undefined,
  item: JsonObject,
  options: JsonOptions,
  givenName = '',
): Outcome {
  const { '@type': typeUrl, ...content } = item;
  if (expected === undefined && typeUrl === undefined) return fail([], '"@type" is missing');
  const resolved = resolveKind(expected, typeUrl, '@type', givenName !== '');
  if (!resolved.ok) return resolved;
  const kind = resolved.value;
  const value = encodeContent(kind, content, options);
  const inside = content[kind.nameField.proto] ?? content[kind.nameField.json];
  const name = givenName === '' ? inside : givenName;
  if (typeof name !== 'string' || name === '') {
    const problems = value.ok ? [] : value.error;
    const alreadyTold = problems.some((problem) => problem.path[0] === kind.nameField.proto);
    const missing = { path: [kind.nameField.proto], reason: 'field not present' };
    return err({ problems: alreadyTold ? problems : [missing, ...problems] });
  }
  if (!value.ok) return err({ name, problems: value.error });
  return ok({ kind, parts: { name, value: value.value } });
}

function encodeContent(
  kind: ResourceKind,
  content: JsonObject,
  options: JsonOptions,
): Result<Uint8Array, readonly JsonProblem[]> {
  try {
    return encodeJson(kind.messageName, content, options);
  } catch (error) {
    // A type this server hands out without knowing it can be given as bytes only.
    return err([{ path: ['@type'], reason: errorMessage(error) }]);
  }
}

/** The kind of a resource from its list, its type, or both, which must then agree. */
function resolveKind(
  expected: ResourceKind | undefined,
  typeUrl: unknown,
  field: string,
  isNamed: boolean,
): Result<ResourceKind, DraftFailure> {
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
  return fail([field], `this server does not hold resources of type ${describeJson(typeUrl)}`);
}
