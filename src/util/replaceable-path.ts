import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { join, parse, resolve, sep } from 'node:path';

/** Linux follows as many symbolic links on a path. */
const MAX_LINKS = 40;
const STICKY = 0o1000;

/**
 * Returns why another user could put something else in the place of a file or of a folder above it; `undefined` if only this user
 * and root can. What is read from such a path, or from the process that listens there, would be theirs, whatever an examination
 * of the file has found. See docs/decisions/relay.md.
 */
export function findReplaceable(path: string): string | undefined {
  // Windows has no ids of users.
  const uid = process.getuid?.();
  if (uid === undefined) return undefined;
  try {
    return walk(resolve(path), { uid, gid: process.getgid?.() });
  } catch {
    // What is missing or closed to this user is noticed by those who open it.
    return undefined;
  }
}

interface User {
  readonly uid: number;
  readonly gid: number | undefined;
}

function walk(path: string, user: User): string | undefined {
  let { root: folder } = parse(path);
  let left = path.slice(folder.length).split(sep);
  for (let links = 0; left.length > 0 && links <= MAX_LINKS;) {
    const [name = '', ...others] = left;
    left = others;
    const entry = join(folder, name);
    const found = lstatSync(entry);
    const problem = findProblem(lstatSync(folder), found, user);
    if (problem !== undefined) {
      return `other users may replace ${entry}, since ${folder} ${problem}: take that from them, or choose another path`;
    }
    if (!found.isSymbolicLink()) {
      folder = entry;
      continue;
    }
    links++;
    const target = resolve(folder, readlinkSync(entry), left.join(sep));
    folder = parse(target).root;
    left = target.slice(folder.length).split(sep);
  }
  return undefined;
}

function findProblem(folder: Stats, entry: Stats, { uid, gid }: User): string | undefined {
  const isTrusted = (owner: number) => owner === uid || owner === 0;
  if (!isTrusted(folder.uid)) return `belongs to the user ${folder.uid}`;
  const isForGroup = (folder.mode & 0o020) !== 0 && folder.gid !== gid && folder.gid !== 0;
  if (!isForGroup && (folder.mode & 0o002) === 0) return undefined;
  const mode = (folder.mode & 0o7777).toString(8).padStart(4, '0');
  // Then only the owners of the entry and of the folder may rename it.
  if ((folder.mode & STICKY) !== 0) {
    return isTrusted(entry.uid)
      ? undefined
      : `has the mode ${mode} and it is of the user ${entry.uid}`;
  }
  return `has the mode ${mode}, without the sticky bit`;
}
