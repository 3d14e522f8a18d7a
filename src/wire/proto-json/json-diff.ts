import { isJsonObject } from './json-object';

/** A value that differs between two JSON documents. */
export interface Difference {
  readonly kind: 'added' | 'removed' | 'changed';
  /** The path, such as `endpoints[eu/a p0].lb_endpoints[127.0.0.1:80].health_status`. */
  readonly path: string;
  /** Absent if added. */
  readonly before?: unknown;
  /** Absent if removed. */
  readonly after?: unknown;
}

/**
 * Compares two JSON documents by path. Elements of lists are compared with the element of the same key, wherever that is:
 * endpoints by address, localities by name and priority, and others by name. Where not every element has a key of its own, they
 * are compared by position.
 */
export function diffJson(before: unknown, after: unknown, path = ''): readonly Difference[] {
  if (before === undefined) return after === undefined ? [] : [{ kind: 'added', path, after }];
  if (after === undefined) return [{ kind: 'removed', path, before }];
  const [a, b] = [membersOf(before, after), membersOf(after, before)];
  if (a === undefined || b === undefined) {
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    return isSame ? [] : [{ kind: 'changed', path, before, after }];
  }
  const keys = new Set([...a.keys(), ...b.keys()]);
  return [...keys].flatMap((key) => diffJson(a.get(key), b.get(key), join(path, key)));
}

/** A member of an object, or an element of a list by its key. */
type Members = ReadonlyMap<string, unknown>;

/** Returns the members of a value; `undefined` if it is to be compared as a whole with the other one. */
function membersOf(value: unknown, other: unknown): Members | undefined {
  if (Array.isArray(value) && Array.isArray(other)) {
    const isKeyed = hasKeys(value) && hasKeys(other);
    const entries = value.map((item: unknown, i): [string, unknown] => [
      `[${isKeyed ? (keyOf(item) ?? i) : i}]`,
      item,
    ]);
    return new Map(entries);
  }
  if (!isJsonObject(value) || !isJsonObject(other)) return undefined;
  return new Map(Object.entries(value));
}

function hasKeys(list: readonly unknown[]): boolean {
  const keys = list.map(keyOf);
  return !keys.includes(undefined) && new Set(keys).size === keys.length;
}

/** Returns what identifies an element: an address, a locality with its priority, or a name. */
function keyOf(item: unknown): string | undefined {
  if (!isJsonObject(item)) return undefined;
  const { locality, name } = item;
  const address = at(item, 'endpoint', 'address', 'socket_address');
  if (isJsonObject(address)) return `${text(address['address'])}:${text(address['port_value'])}`;
  if (isJsonObject(locality)) {
    const parts = ['region', 'zone', 'sub_zone'].map((part) => text(locality[part]));
    const place = parts.filter((part) => part !== '').join('/');
    return `${place === '' ? '-' : place} p${text(item['priority'] ?? 0)}`;
  }
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function at(item: unknown, ...path: readonly string[]): unknown {
  let value = item;
  for (const step of path) value = isJsonObject(value) ? value[step] : undefined;
  return value;
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function join(path: string, key: string): string {
  return path === '' || key.startsWith('[') ? `${path}${key}` : `${path}.${key}`;
}
