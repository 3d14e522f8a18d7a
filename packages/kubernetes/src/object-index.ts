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

  /** Returns the objects of an owner in the order of their keys: the same list until one of them changes. */
  of(owner: string): readonly Value[] {
    const owned = this.owners.get(owner);
    if (owned === undefined) return NO_OBJECTS;
    owned.sorted ??= [...owned.byKey]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, value]) => value);
    return owned.sorted;
  }

  /** Adds or replaces an object under its owners. */
  add(owners: Iterable<string>, key: ObjectKey, value: Value): void {
    for (const owner of owners) {
      let owned = this.owners.get(owner);
      if (owned === undefined) {
        owned = { byKey: new Map(), sorted: undefined };
        this.owners.set(owner, owned);
      }
      owned.byKey.set(key, value);
      owned.sorted = undefined;
    }
  }

  /** Removes an object from its owners. */
  remove(owners: Iterable<string>, key: ObjectKey): void {
    for (const owner of owners) {
      const owned = this.owners.get(owner);
      if (owned === undefined) continue;
      owned.byKey.delete(key);
      owned.sorted = undefined;
      if (owned.byKey.size === 0) this.owners.delete(owner);
    }
  }
}
