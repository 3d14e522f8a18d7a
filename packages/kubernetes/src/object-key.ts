import type { ObjectKey } from './cluster-objects';
import { OBJECT_LIMITS } from './object-limits';
import type { ObjectMeta } from './objects';
import { valueAt } from '../../../src/util/value-at';

/** What identifies an object and its version. */
export interface ObjectIdentity {
  readonly key: ObjectKey;
  readonly resourceVersion: string;
}

/** Returns the key of an object: its name alone if it is in no namespace. */
export function keyOf({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): ObjectKey {
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** Reads what identifies an object, also if the rest of it cannot be read; `undefined` if nothing does. */
export function readKey(json: unknown): ObjectIdentity | undefined {
  const name = valueAt(json, 'metadata', 'name');
  const namespace = valueAt(json, 'metadata', 'namespace') ?? '';
  const resourceVersion = valueAt(json, 'metadata', 'resourceVersion') ?? '';
  if (!isName(name) || name === '' || !isName(namespace) || !isName(resourceVersion)) {
    return undefined;
  }
  return { key: keyOf({ namespace, name }), resourceVersion };
}

function isName(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length <= OBJECT_LIMITS.nameLength && !value.includes('/')
  );
}

/** Returns the namespace that a key begins with. */
export function namespaceIn(key: string): string {
  return key.slice(0, key.indexOf('/'));
}
