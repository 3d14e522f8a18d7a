import { createHash } from 'node:crypto';

/** Returns an id for the thing with these names, which may be long and have any characters. */
export function rowId(...names: readonly string[]): string {
  return pathId(names);
}

/** Does the same for names in a list. */
export function pathId(names: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('base64url').slice(0, 16);
}
