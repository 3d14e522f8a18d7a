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
import { buildResources, type ResourceInput, type ResourceList } from './snapshot-builder';
import { SnapshotError } from './snapshot-problem';

/** Resources for a snapshot, by kind. */
export interface SnapshotInput {
  readonly listeners?: readonly ResourceInput[];
  readonly routes?: readonly ResourceInput[];
  readonly clusters?: readonly ResourceInput[];
  readonly endpoints?: readonly ResourceInput[];
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
   * A snapshot in which each list that is given replaces all resources of its kind. The other kinds
   * stay as they are.
   *
   * @throws `SnapshotError` as `from` does.
   */
  with(input: SnapshotInput, options: JsonOptions = {}): Snapshot {
    return this.change(input, options, (resources) => resources);
  }

  /**
   * A snapshot in which each resource that is given is added, or replaces the one of its name.
   *
   * @throws `SnapshotError` as `from` does.
   */
  merge(input: SnapshotInput, options: JsonOptions = {}): Snapshot {
    return this.change(
      input,
      options,
      (resources, kind) => new Map([...this.set(kind).byName, ...resources]),
    );
  }

  /** All resources of a kind. */
  set(kind: ResourceKind): ResourceSet {
    return this.sets.get(kind) ?? emptyResourceSet;
  }

  /** One resource. */
  get(kind: ResourceKind, name: string): SnapshotResource | undefined {
    return this.sets.get(kind)?.byName.get(name);
  }

  private change(
    input: SnapshotInput,
    options: JsonOptions,
    resolve: (
      resources: ReadonlyMap<string, SnapshotResource>,
      kind: ResourceKind,
    ) => ReadonlyMap<string, SnapshotResource>,
  ): Snapshot {
    const built = buildResources(listsOf(input), this, options);
    if (!built.ok) throw new SnapshotError(built.error);
    const sets = new Map(this.sets);
    for (const [kind, resources] of built.value) {
      sets.set(kind, createResourceSet(resolve(resources, kind), this.set(kind)));
    }
    return new Snapshot(sets);
  }
}

function listsOf(input: SnapshotInput): readonly ResourceList[] {
  const lists: ResourceList[] = [];
  const add = (list: string, kind: ResourceKind, items: readonly ResourceInput[] | undefined) => {
    if (items !== undefined) lists.push({ list, kind, items });
  };
  add('listeners', listenerKind, input.listeners);
  add('routes', routeKind, input.routes);
  add('clusters', clusterKind, input.clusters);
  add('endpoints', endpointKind, input.endpoints);
  return lists;
}
