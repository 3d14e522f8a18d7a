/** Returns a list in an object; empty if it is missing. */
export function listAt(value: unknown, name: string): readonly unknown[] {
  const found: unknown = valueAt(value, name);
  return Array.isArray(found) ? found : [];
}

/** Returns a number in an object, which may be written as a text; 0 if it is missing. */
export function numberAt(value: unknown, ...path: readonly string[]): number {
  const found = Number(valueAt(value, ...path));
  return Number.isFinite(found) ? found : 0;
}

/** Returns a value in an object by its path; `undefined` if it is missing. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = Reflect.get(found, name);
  }
  return found ?? undefined;
}
