import type { JsonOptions } from '../proto-json/encode-json';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  type ResourceKind,
} from './resource-kind';
import {
  createResourceSet,
  emptyResourceSet,
  type ResourceSet,
  type SnapshotResource,
} from './resource-set';
import type { ResourceInput } from './resource-draft';
import { createResourceErrors, type ResourceErrorInput } from './resource-error';
import { buildResources, type ResourceList } from './snapshot-builder';
import { SnapshotError } from './snapshot-problem';

/** Resources for a snapshot, by kind. */
export interface SnapshotInput {
  readonly listeners?: readonly ResourceInput[];
  readonly routes?: readonly ResourceInput[];
  readonly clusters?: readonly ResourceInput[];
  readonly endpoints?: readonly ResourceInput[];
  /** Resources of any type, each with its `@type` or `typeUrl`; also types that this server knows nothing of. */
  readonly resources?: readonly ResourceInput[];
  /** Names for which clients get an error; it takes the place of a resource of that name. */
  readonly errors?: readonly ResourceErrorInput[];
}

/**
 * Everything a client may be told at one moment. Snapshots are immutable; a new one shares the
 * encoded resources that did not change, and their versions, with the one it was made from.
 */
export class Snapshot {
  /** No resources at all. */
  static readonly empty: Snapshot = new Snapshot(new Map());

  /** Takes over sets that were made elsewhere; `Snapshot.from` makes them, too. */
  constructor(private readonly sets: ReadonlyMap<ResourceKind, ResourceSet>) {}

  /**
   * Makes a snapshot of these resources.
   *
   * @throws `SnapshotError` listing every resource that cannot be encoded, and why.
   */
  static from(input: SnapshotInput, options: JsonOptions = {}): Snapshot {
    return Snapshot.empty.with(input, options);
  }

  /**
   * A snapshot in which each list that is given replaces all resources of its kind, `resources` those of
   * every kind it holds, and `errors` all errors. What is not given stays as it is.
   *
   * @throws `SnapshotError` as `from` does.
   */
  with(input: SnapshotInput, options: JsonOptions = {}): Snapshot {
    return this.change(input, options, {
      resources: (given) => given,
      errors: (given) => given,
    });
  }

  /**
   * A snapshot in which each resource that is given is added, or replaces the one of its name.
   *
   * @throws `SnapshotError` as `from` does.
   */
  merge(input: SnapshotInput, options: JsonOptions = {}): Snapshot {
    return this.change(input, options, {
      resources: (given, kind) => new Map([...this.set(kind).byName, ...given]),
      errors: (given, kind) => new Map([...this.set(kind).errors, ...given]),
    });
  }

  /** All resources of a kind. */
  set(kind: ResourceKind): ResourceSet {
    return this.sets.get(kind) ?? emptyResourceSet;
  }

  /** The kinds of which there is or was something. */
  kinds(): readonly ResourceKind[] {
    return [...this.sets.keys()];
  }

  /** One resource. */
  get(kind: ResourceKind, name: string): SnapshotResource | undefined {
    return this.sets.get(kind)?.byName.get(name);
  }

  /** The shortest time to live of any resource, in milliseconds; undefined when none has one. */
  get shortestTtlMs(): number | undefined {
    let shortest: number | undefined;
    for (const { byName } of this.sets.values()) {
      for (const { ttlMs } of byName.values()) {
        if (ttlMs !== undefined && ttlMs < (shortest ?? Infinity)) shortest = ttlMs;
      }
    }
    return shortest;
  }

  private change(input: SnapshotInput, options: JsonOptions, merge: Merge): Snapshot {
    const built = buildResources(listsOf(input), this, options);
    const errors = createResourceErrors(input.errors ?? []);
    const problems = [...(built.ok ? [] : built.error), ...(errors.ok ? [] : errors.error)];
    if (!built.ok || !errors.ok) throw new SnapshotError(problems);
    const kinds = new Set([...built.value.keys(), ...errors.value.keys()]);
    if (input.errors !== undefined) for (const kind of this.sets.keys()) kinds.add(kind);
    const sets = new Map(this.sets);
    for (const kind of kinds) {
      const before = this.set(kind);
      const resources = built.value.get(kind);
      const given = input.errors && (errors.value.get(kind) ?? new Map());
      const byName = resources === undefined ? before.byName : merge.resources(resources, kind);
      const failed = given === undefined ? before.errors : merge.errors(given, kind);
      sets.set(kind, createResourceSet(byName, before, failed));
    }
    return new Snapshot(sets);
  }
}

/** How what is given and what is there come together. */
interface Merge {
  resources(given: ResourceSet['byName'], kind: ResourceKind): ResourceSet['byName'];
  errors(given: ResourceSet['errors'], kind: ResourceKind): ResourceSet['errors'];
}

function listsOf(input: SnapshotInput): readonly ResourceList[] {
  const lists: ResourceList[] = [];
  const add = (
    list: string,
    kind: ResourceKind | undefined,
    items: readonly ResourceInput[] | undefined,
  ) => {
    if (items !== undefined) lists.push({ list, kind, items });
  };
  add('listeners', listenerKind, input.listeners);
  add('routes', routeKind, input.routes);
  add('clusters', clusterKind, input.clusters);
  add('endpoints', endpointKind, input.endpoints);
  add('resources', undefined, input.resources);
  return lists;
}
