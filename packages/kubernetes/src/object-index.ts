import type { ObjectKey } from './cluster-objects';

/** The objects that have an owner, by their keys. */
interface Owned<Value> {
  readonly byKey: Map<ObjectKey, Value>;
  /** In the order of their keys; undefined until it is needed. */
  sorted: readonly Value[] | undefined;
}

const NO_OBJECTS: readonly never[] = [];

/** Finds objects by what they belong or refer to, which may be several things. */
export class ObjectIndex<Value> {
  private readonly owners = new Map<string, Owned<Value>>();

  constructor(private readonly ownersOf: (value: Value) => Iterable<string>) {}

  /** Returns the objects of an owner in the order of their keys: the same list until one of them changes. */
  of(owner: string): readonly Value[] {
    const owned = this.owners.get(owner);
    if (owned === undefined) return NO_OBJECTS;
    owned.sorted ??= [...owned.byKey]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, value]) => value);
    return owned.sorted;
  }

  /** Replaces the version of an object before, which may have had other owners. */
  replace(key: ObjectKey, before: Value | undefined, after: Value | undefined): void {
    if (before !== undefined) {
      for (const owner of this.ownersOf(before)) this.remove(owner, key);
    }
    if (after === undefined) return;
    for (const owner of this.ownersOf(after)) {
      const owned = this.owners.get(owner) ?? { byKey: new Map(), sorted: undefined };
      owned.byKey.set(key, after);
      owned.sorted = undefined;
      this.owners.set(owner, owned);
    }
  }

  private remove(owner: string, key: ObjectKey): void {
    const owned = this.owners.get(owner);
    if (owned === undefined) return;
    owned.byKey.delete(key);
    owned.sorted = undefined;
    if (owned.byKey.size === 0) this.owners.delete(owner);
  }
}
