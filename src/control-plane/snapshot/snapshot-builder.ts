import type { JsonOptions } from '../../wire/proto-json/encode-json';
import { formatJsonProblem, type JsonProblem } from '../../wire/proto-json/json-problem';
import { err, ok, type Result } from '../../util/result';
import { MAX_STATUS_CODE } from '../../util/status-code';
import { parseResourceInput, type InputFailure, type ParsedResource } from './resource-input';
import type {
  ResourceError,
  ResourceErrorInput,
  ResourceKind,
  ResourceSet,
  SnapshotResource,
} from '../resource';
import { createResource, createResourceError } from './encoded-resource';
import { joinLines } from '../../util/text';
import { XdsError } from '../../util/xds-error';

/** One invalid field of a resource or error given to a snapshot. */
export interface SnapshotProblem extends JsonProblem {
  /** The list that contains the resource, such as `clusters`. */
  readonly list: string;
  /** Index in that list; absent if the list itself is invalid. */
  readonly index?: number;
  /** Name of the resource; absent if it could not be read. */
  readonly name?: string;
}

/** Formats a problem as `clusters[0] ("echo"): lb_policy: …`. */
export function formatSnapshotProblem(problem: SnapshotProblem): string {
  const position = problem.index === undefined ? '' : `[${problem.index}]`;
  const name = problem.name === undefined ? '' : ` (${JSON.stringify(problem.name)})`;
  return `${problem.list}${position}${name}: ${formatJsonProblem(problem)}`;
}

/** Thrown when a snapshot cannot be created from its input. The message lists every problem. */
export class SnapshotError extends XdsError {
  override readonly name = 'SnapshotError';
  /** All problems, in the order of the input. */
  readonly problems: readonly SnapshotProblem[];

  /** @internal */
  constructor(problems: readonly SnapshotProblem[]) {
    super('XDS_RESOURCE_INVALID', joinLines(problems.map(formatSnapshotProblem)));
    this.problems = problems;
  }
}

/** A named list of resource inputs. */
export interface ResourceList {
  /** Name of the list in problems. */
  readonly list: string;
  /** The kind of its resources; undefined if each resource has its own `@type`. */
  readonly kind: ResourceKind | undefined;
  readonly items: readonly unknown[];
}

/** The resources of an earlier snapshot. */
export interface ResourceSource {
  set(kind: ResourceKind): ResourceSet;
}

/** The encoded resources of all lists, by kind and name. */
type BuiltResources = ReadonlyMap<ResourceKind, ReadonlyMap<string, SnapshotResource>>;

/**
 * Encodes the resources of all lists, or returns all their problems. An unchanged resource is the same object as in
 * `previous`. An empty list of a known kind yields an empty map, which replaces the resources of that kind.
 *
 * @param ignored Receives the fields of Envoy that gRPC clients do not read, and that the resources therefore leave out.
 */
export function buildResources(
  lists: readonly ResourceList[],
  previous: ResourceSource,
  options: JsonOptions,
  ignored: SnapshotProblem[] = [],
): Result<BuiltResources, readonly SnapshotProblem[]> {
  const builder = new Builder(previous, options, ignored);
  for (const list of lists) builder.addList(list);
  return builder.problems.length > 0 ? err(builder.problems) : ok(builder.built);
}

class Builder {
  readonly built = new Map<ResourceKind, Map<string, SnapshotResource>>();
  readonly problems: SnapshotProblem[] = [];

  constructor(
    private readonly previous: ResourceSource,
    private readonly jsonOptions: JsonOptions,
    private readonly ignored: SnapshotProblem[],
  ) {}

  addList({ list, kind, items }: ResourceList): void {
    if (kind !== undefined) this.resourcesOf(kind);
    items.forEach((item, index) => {
      const fields: JsonProblem[] = [];
      const onEnvoyField = (field: JsonProblem) => void fields.push(field);
      const parsed = parseResourceInput(kind, item, { ...this.jsonOptions, onEnvoyField });
      if (!parsed.ok) {
        this.addProblems(list, index, parsed.error);
        return;
      }
      this.addResource(list, index, parsed.value);
      const { name } = parsed.value.options;
      for (const field of fields) this.ignored.push({ list, index, name, ...field });
    });
  }

  private addResource(list: string, index: number, { kind, options }: ParsedResource): void {
    const resources = this.resourcesOf(kind);
    const { name } = options;
    if (resources.has(name)) {
      const reason = `another ${kind.label} has this name`;
      this.problems.push({ list, index, name, path: [], reason });
      return;
    }
    const previous = this.previous.set(kind).byName.get(name);
    resources.set(name, createResource(kind, options, previous));
  }

  private addProblems(list: string, index: number, failure: InputFailure): void {
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
}

/** Errors by kind and name. */
type ErrorsByKind = ReadonlyMap<ResourceKind, ReadonlyMap<string, ResourceError>>;

/** Returns errors by kind and name, or all their problems. */
export function buildErrors(
  inputs: readonly ResourceErrorInput[],
): Result<ErrorsByKind, readonly SnapshotProblem[]> {
  const problems: SnapshotProblem[] = [];
  const byKind = new Map<ResourceKind, Map<string, ResourceError>>();
  inputs.forEach((input, index) => {
    const { kind, name, code } = input;
    const errors = byKind.get(kind) ?? new Map<string, ResourceError>();
    byKind.set(kind, errors);
    const add = (field: string, reason: string) =>
      problems.push({ list: 'errors', index, name, path: [field], reason });
    if (name === '') add('name', 'must not be empty');
    else if (errors.has(name)) add('name', `another ${kind.label} error has this name`);
    if (!Number.isInteger(code) || code < 1 || code > MAX_STATUS_CODE) {
      add('code', `must be from 1 to ${MAX_STATUS_CODE}, not ${code}`);
    }
    errors.set(name, createResourceError(input));
  });
  return problems.length > 0 ? err(problems) : ok(byKind);
}
