/** An object that compares itself with others: one whose properties do not say all. */
interface Comparable {
  equals(other: unknown): boolean;
}

/**
 * Compares what was parsed: primitives, bytes, and lists, maps, sets and objects of them. Maps and sets with the same members are
 * the same in any order. An object with methods is the same only as itself, or if its `equals` says so.
 *
 * @returns whether both are the same value.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (isComparable(a)) return a.equals(b);
  if (Array.isArray(a)) return areSameLists(a, b);
  if (a instanceof Map) return areSameMaps(a, b);
  if (a instanceof Set) return areSameSets(a, b);
  return !hasMethods(a) && areSameObjects(a, b);
}

function areSameLists(a: readonly unknown[], b: object): boolean {
  if (!Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, index) => isSame(item, b[index]));
}

function areSameObjects(a: object, b: object): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(Reflect.get(a, key), Reflect.get(b, key)))
  );
}

function areSameMaps(a: ReadonlyMap<unknown, unknown>, b: object): boolean {
  if (!(b instanceof Map) || a.size !== b.size) return false;
  for (const [key, value] of a) if (!b.has(key) || !isSame(value, b.get(key))) return false;
  return true;
}

function areSameSets(a: ReadonlySet<unknown>, b: object): boolean {
  return b instanceof Set && a.size === b.size && [...a].every((item) => b.has(item));
}

function isComparable(value: object): value is Comparable {
  return 'equals' in value && typeof value.equals === 'function';
}

/** Whether the class of an object has more than a constructor. */
function hasMethods(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== 'object' || prototype === null) return false;
  return prototype !== Object.prototype && Reflect.ownKeys(prototype).length > 1;
}
