import type { JsonObject } from '@bufbuild/protobuf';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import { describeJson, isJsonObject } from '../proto-json/explain-json';
import type { JsonProblem } from '../proto-json/json-problem';
import { encodeJson, type JsonOptions } from '../proto-json/encode-json';
import { findResourceKind, type ResourceKind } from './resource-kind';
import { createResource, type ResourceSet, type SnapshotResource } from './resource-set';
import type { SnapshotProblem } from './snapshot-problem';

/** A resource in its wire form, for configurations the schema cannot express or that must be wrong. */
export interface EncodedResource {
  /** Must be the type of the list it is in. */
  readonly typeUrl: string;
  readonly value: Uint8Array;
  /** Default: the name inside the bytes. Needed when the bytes are not a valid message. */
  readonly name?: string;
}

/** A resource: proto3-JSON as in Envoy's configuration, or encoded. */
export type ResourceInput = Readonly<Record<string, unknown>> | EncodedResource;

/** A list of resources under the name its problems are reported with. */
export interface ResourceList {
  readonly list: string;
  /** What the list holds; undefined when each resource says so with `@type`. */
  readonly kind: ResourceKind | undefined;
  readonly items: readonly unknown[];
}

/** Where resources are held already. */
export interface ResourceSource {
  set(kind: ResourceKind): ResourceSet;
}

/** The resources of some lists, by kind and name. */
export type BuiltResources = ReadonlyMap<ResourceKind, ReadonlyMap<string, SnapshotResource>>;

/**
 * Encodes the resources of all lists. A resource that did not change is the same object as in
 * `previous`. A list of known kind that is empty yields an empty map, so that it can replace another.
 *
 * @returns the resources, or everything that is wrong with them.
 */
export function buildResources(
  lists: readonly ResourceList[],
  previous: ResourceSource,
  options: JsonOptions,
): Result<BuiltResources, readonly SnapshotProblem[]> {
  const builder = new Builder(previous, options);
  for (const list of lists) builder.addList(list);
  return builder.problems.length > 0 ? err(builder.problems) : ok(builder.built);
}

class Builder {
  readonly built = new Map<ResourceKind, Map<string, SnapshotResource>>();
  readonly problems: SnapshotProblem[] = [];

  constructor(
    private readonly previous: ResourceSource,
    private readonly options: JsonOptions,
  ) {}

  addList({ list, kind, items }: ResourceList): void {
    if (kind !== undefined) this.resourcesOf(kind);
    items.forEach((item, index) => {
      const outcome = this.build(kind, item);
      if (outcome.ok) this.addResource(list, index, outcome.value);
      else this.addProblems(list, index, outcome.error);
    });
  }

  private addResource(list: string, index: number, { kind, name, value }: Draft): void {
    const resources = this.resourcesOf(kind);
    if (resources.has(name)) {
      const reason = `another ${kind.label} has this name`;
      this.problems.push({ list, index, name, path: [], reason });
      return;
    }
    const previous = this.previous.set(kind).byName.get(name);
    resources.set(name, createResource(kind, { name, value }, previous));
  }

  private addProblems(list: string, index: number, failure: Failure): void {
    const name = failure.name === undefined ? {} : { name: failure.name };
    for (const problem of failure.problems)
      this.problems.push({ list, index, ...name, ...problem });
  }

  private resourcesOf(kind: ResourceKind): Map<string, SnapshotResource> {
    let resources = this.built.get(kind);
    if (resources === undefined) {
      resources = new Map();
      this.built.set(kind, resources);
    }
    return resources;
  }

  private build(kind: ResourceKind | undefined, item: unknown): Result<Draft, Failure> {
    if (isEncodedResource(item)) return draftFromBytes(kind, item);
    if (isJsonObject(item)) return draftFromJson(kind, item, this.options);
    return fail([], `expected an object, got ${describeJson(item)}`);
  }
}

interface Draft {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly value: Uint8Array;
}

interface Failure {
  readonly name?: string;
  readonly problems: readonly JsonProblem[];
}

function fail(path: JsonProblem['path'], reason: string): Result<never, Failure> {
  return err({ problems: [{ path, reason }] });
}

function isEncodedResource(item: unknown): item is EncodedResource {
  return (
    typeof item === 'object' && item !== null && 'value' in item && item.value instanceof Uint8Array
  );
}

function draftFromBytes(
  expected: ResourceKind | undefined,
  item: EncodedResource,
): Result<Draft, Failure> {
  const kind = resolveKind(expected, item.typeUrl, 'typeUrl');
  if (!kind.ok) return kind;
  const { value } = item;
  if (item.name !== undefined) return ok({ kind: kind.value, name: item.name, value });
  try {
    const name = kind.value.readNameFromBytes(value);
    if (name === '') return fail(['value'], 'the resource has no name');
    return ok({ kind: kind.value, name, value });
  } catch (error) {
    const reason = `cannot be decoded (${errorMessage(error)}); give a name to serve it anyway`;
    return fail(['value'], reason);
  }
}

function draftFromJson(
  expected: ResourceKind | undefined,
  item: JsonObject,
  options: JsonOptions,
): Result<Draft, Failure> {
  const { '@type': typeUrl, ...content } = item;
  if (expected === undefined && typeUrl === undefined) return fail([], '"@type" is missing');
  const resolved = resolveKind(expected, typeUrl, '@type');
  if (!resolved.ok) return resolved;
  const kind = resolved.value;
  const value = encodeJson(kind.messageName, content, options);
  const name = content[kind.nameField.proto] ?? content[kind.nameField.json];
  if (typeof name !== 'string' || name === '') {
    const problems = value.ok ? [] : value.error;
    const alreadyTold = problems.some((problem) => problem.path[0] === kind.nameField.proto);
    const missing = { path: [kind.nameField.proto], reason: 'field not present' };
    return err({ problems: alreadyTold ? problems : [missing, ...problems] });
  }
  if (!value.ok) return err({ name, problems: value.error });
  return ok({ kind, name, value: value.value });
}

/** The kind of a resource from its list, its type, or both, which must then agree. */
function resolveKind(
  expected: ResourceKind | undefined,
  typeUrl: unknown,
  field: string,
): Result<ResourceKind, Failure> {
  if (expected !== undefined && (typeUrl === undefined || typeUrl === expected.typeUrl)) {
    return ok(expected);
  }
  if (expected !== undefined) {
    return fail([field], `expected "${expected.typeUrl}", got ${describeJson(typeUrl)}`);
  }
  const kind = typeof typeUrl === 'string' ? findResourceKind(typeUrl) : undefined;
  if (kind !== undefined) return ok(kind);
  return fail([field], `this server does not hold resources of type ${describeJson(typeUrl)}`);
}
