import type { JsonOptions } from '../proto-json/encode-json';
import { err, ok, type Result } from '../util/result';
import { draftResource, type DraftFailure, type ResourceDraft } from './resource-draft';
import type { ResourceKind } from './resource-kind';
import { createResource, type ResourceSet, type SnapshotResource } from './resource-set';
import type { SnapshotProblem } from './snapshot-problem';

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
      const outcome = draftResource(kind, item, this.options);
      if (outcome.ok) this.addResource(list, index, outcome.value);
      else this.addProblems(list, index, outcome.error);
    });
  }

  private addResource(list: string, index: number, { kind, parts }: ResourceDraft): void {
    const resources = this.resourcesOf(kind);
    const { name } = parts;
    if (resources.has(name)) {
      const reason = `another ${kind.label} has this name`;
      this.problems.push({ list, index, name, path: [], reason });
      return;
    }
    const previous = this.previous.set(kind).byName.get(name);
    resources.set(name, createResource(kind, parts, previous));
  }

  private addProblems(list: string, index: number, failure: DraftFailure): void {
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
