/*
 * Functions with which the maker of a value keeps the identity of what did not change, so that those who use the value
 * compare with `===`.
 */

/** Returns the previous list if it has the same items in the same order, otherwise the next one. */
export function shareList<T>(previous: readonly T[] | undefined, next: readonly T[]): readonly T[] {
  if (previous?.length !== next.length || previous === next) return next;
  for (let i = 0; i < next.length; i++) if (previous[i] !== next[i]) return next;
  return previous;
}

/** Returns the previous map if it has the same entries in any order, otherwise the next one. */
export function shareMap<K, V>(
  previous: ReadonlyMap<K, V> | undefined,
  next: ReadonlyMap<K, V>,
): ReadonlyMap<K, V> {
  if (previous?.size !== next.size || previous === next) return next;
  for (const [key, value] of previous) {
    const other = next.get(key);
    if (other !== value || (other === undefined && !next.has(key))) return next;
  }
  return previous;
}

/** Returns the previous set if it has the same items in any order, otherwise the next one. */
export function shareSet<T>(
  previous: ReadonlySet<T> | undefined,
  next: ReadonlySet<T>,
): ReadonlySet<T> {
  if (previous?.size !== next.size || previous === next) return next;
  for (const item of previous) if (!next.has(item)) return next;
  return previous;
}

/** Returns the previous object if each of its properties is the same, otherwise the next one. */
export function shareFields<T extends object | undefined>(previous: T | undefined, next: T): T {
  if (previous === undefined || next === undefined) return next;
  const names = Object.keys(next);
  if (Object.keys(previous).length !== names.length) return next;
  for (const name of names) {
    if (!Object.hasOwn(previous, name)) return next;
    if (Reflect.get(previous, name) !== Reflect.get(next, name)) return next;
  }
  return previous;
}
