import { lstatSync, readdirSync, realpathSync, type Dirent } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readRegularFile } from '../../../../src/util/read-regular-file';

/** How a file is read: as a program, as a `package.json`, as lines `NAME=value`, or as other text. */
export type FileKind = 'source' | 'manifest' | 'env' | 'text';

/** A file that may name the other package. */
export interface FoundFile {
  /** Absolute, without links. */
  readonly path: string;
  readonly kind: FileKind;
}

/** Folders of other programs: what is in them is installed, or a history. */
const FOREIGN: ReadonlySet<string> = new Set([
  'node_modules',
  'bower_components',
  'jspm_packages',
  '.pnpm-store',
  '.yarn',
  '.git',
  '.hg',
  '.svn',
  '.jj',
]);
const LOCK = /^(?:package-lock|npm-shrinkwrap)\.json$|^(?:pnpm-lock|bun)\.(?:ya?ml|lockb?)$/;
const SOURCE = /\.[cm]?[jt]sx?$/;
const ENV = /^\.env(?:\..+)?$|\.env$/;
const TEXT =
  /\.(?:ya?ml|json[5c]?|toml|sh|bash|zsh|ps1|cmd|bat|service|vue|svelte|astro|tf)$|^(?:docker|container|make|proc|jenkins)file(?:\..*)?$|\.dockerfile$/i;

/** Larger files are not written by people. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Lists the files at and below a path, in the order of their names. Links are not followed: what they lead to is inside,
 * where it is found by its own name, or outside. Folders that a `.gitignore` on the way names are left out.
 *
 * @throws Error of `node:fs` if the path itself cannot be read.
 */
export function findFiles(path: string): readonly FoundFile[] {
  const root = realpathSync(path);
  if (!lstatSync(root).isDirectory()) {
    const kind = kindOf(basename(root)) ?? 'text';
    return [{ path: root, kind }];
  }
  return [...walk(root, new Set())];
}

function* walk(folder: string, ignored: ReadonlySet<string>): Generator<FoundFile> {
  const all = new Set([...ignored, ...ignoredNames(folder)]);
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    const kind = entry.isFile() ? kindOf(entry.name) : undefined;
    if (kind !== undefined) yield { path, kind };
    const isOurs = !FOREIGN.has(entry.name) && !all.has(entry.name);
    if (entry.isDirectory() && isOurs) yield* walk(path, all);
  }
}

/** The entries by name. A folder that cannot be read has none. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** The plain names in a `.gitignore`, such as `dist/`: those of built folders. */
function ignoredNames(folder: string): readonly string[] {
  const read = readRegularFile(join(folder, '.gitignore'), { maxBytes: MAX_FILE_BYTES });
  if (!read.ok) return [];
  const lines = read.value.toString('utf8').split(/\r?\n/);
  return lines.flatMap((line) => /^\/?([\w.-]+)\/?\s*$/.exec(line)?.[1] ?? []);
}

function kindOf(name: string): FileKind | undefined {
  if (name === 'package.json') return 'manifest';
  if (LOCK.test(name)) return undefined;
  if (SOURCE.test(name)) return 'source';
  if (ENV.test(name)) return 'env';
  return TEXT.test(name) ? 'text' : undefined;
}

/** Reads a file as text. @returns undefined if it is large, binary, or not UTF-8, and so would change when written. */
export function readText(path: string): string | undefined {
  const read = readRegularFile(path, { maxBytes: MAX_FILE_BYTES });
  if (!read.ok || read.value.includes(0)) return undefined;
  const text = read.value.toString('utf8');
  return Buffer.from(text).equals(read.value) ? text : undefined;
}

/** The folders of a path and above it, the nearest one first. */
export function* foldersOf(path: string): Generator<string> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    yield folder;
    if (folder === dirname(folder)) return;
  }
}
