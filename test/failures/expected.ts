import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The texts of a failure that are the same in each run. */
export interface Golden {
  /** Of a call, and of one that waits for ready. */
  readonly statuses: readonly [string, string];
  /** The lines of the log at its default level in the first fraction of a second, sorted. */
  readonly lines: readonly string[];
}

/** What a failure looks like with each deadline, the same in each run. */
export interface GoldenRow {
  /** By deadline and kind of call, such as `5 s wait-for-ready`: when it ends, and its status. */
  readonly statuses: Readonly<Record<string, string>>;
  /** The lines of the log at its default level: when each is written first, and its text. */
  readonly lines: readonly string[];
}

/** Written by `npm run trial -- failures --golden`. */
export const GOLDEN_FILE = join(__dirname, 'golden.json');
/** Written by `npm run trial -- failures --write`, compared with by `npm run trial -- failures --check`. */
export const TABLE_FILE = join(__dirname, 'table.json');

const golden = readRecord(GOLDEN_FILE);
const table = readRecord(TABLE_FILE);

/** The names of the failures in the files. */
export const goldenNames: readonly string[] = Object.keys(golden);
export const tableNames: readonly string[] = Object.keys(table);

/** Returns what a failure is expected to look like; `undefined` if that is not known. */
export function goldenOf(name: string): unknown {
  return Reflect.get(golden, name);
}

/** Returns what a failure is expected to look like in the table; `undefined` if that is not known. */
export function rowOf(name: string): unknown {
  return Reflect.get(table, name);
}

function readRecord(path: string): object {
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
  return Object(value);
}
