/**
 * Returns an object of JSON with another value at a path, such as `spec`, `rules[]`, `name`: of a list, in its first element. Objects
 * that are missing on the way are added.
 */
export function withValue(json: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const key = name.replace('[]', '');
  const fields = new Map<string, unknown>(Object.entries(json ?? {}));
  const inner = fields.get(key);
  if (key === name) return Object.fromEntries(fields.set(key, withValue(inner, rest, value)));
  const [first = {}, ...others]: readonly unknown[] = Array.isArray(inner) ? inner : [];
  return Object.fromEntries(fields.set(key, [withValue(first, rest, value), ...others]));
}
