/** Groups values by a key, as `Map.groupBy` does from Node.js 21 on. */
export function groupBy<K, T>(values: Iterable<T>, keyOf: (value: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const value of values) getOrMake(groups, keyOf(value), (): T[] => []).push(value);
  return groups;
}

/** Returns the value of a key, which is made if there is none yet. */
export function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
