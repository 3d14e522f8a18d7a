import { STEP_SIZE, type Steps } from './steps';

/** An object that compares itself with others: one whose properties do not say all. */
interface Comparable {
  equals(other: unknown): boolean;
}

/**
 * Compares what was parsed, in steps: primitives, bytes, and lists, maps, sets and objects of them. Maps and sets with the same members
 * are the same in any order. An object with methods is the same only as itself, or if its `equals` says so.
 *
 * @returns whether both are the same value.
 */
export function* isSameInSteps(a: unknown, b: unknown): Steps<boolean> {
  const pairs: unknown[] = [a, b];
  for (let count = 1; pairs.length > 0; count++) {
    const right = pairs.pop();
    const left = pairs.pop();
    if (!Object.is(left, right) && !compare(left, right, pairs)) return false;
    if (count % STEP_SIZE === 0) yield;
  }
  return true;
}

/** Compares values without their parts, of which it adds the pairs that are left to compare. */
function compare(a: unknown, b: unknown, pairs: unknown[]): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (isComparable(a)) return a.equals(b);
  if (a instanceof Map) return b instanceof Map && compareMaps(a, b, pairs);
  if (a instanceof Set) {
    return b instanceof Set && a.size === b.size && [...a].every((item) => b.has(item));
  }
  if (!Array.isArray(a) && hasMethods(a)) return false;
  return compareMaps(new Map(Object.entries(a)), new Map(Object.entries(b)), pairs);
}

function compareMaps(
  a: ReadonlyMap<unknown, unknown>,
  b: ReadonlyMap<unknown, unknown>,
  pairs: unknown[],
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    if (!b.has(key)) return false;
    pairs.push(value, b.get(key));
  }
  return true;
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
