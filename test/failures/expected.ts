import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The texts of a failure that are the same in each run. */
export interface Golden {
  /** Of a call, and of one that waits for ready. */
  readonly statuses: readonly [string, string];
  /** The lines of the log at its default level in the first fraction of a second, sorted. */
  readonly lines: readonly string[];
}

/** Written by `npm run failures -- --golden`. */
export const GOLDEN_FILE = join(__dirname, 'golden.json');

const golden: unknown = JSON.parse(readFileSync(GOLDEN_FILE, 'utf8'));

/** The names of the failures in the file. */
export const goldenNames: readonly string[] = Object.keys(Object(golden));

/** Returns what a failure is expected to look like; `undefined` if that is not known. */
export function goldenOf(name: string): unknown {
  return typeof golden === 'object' && golden !== null ? Reflect.get(golden, name) : undefined;
}
