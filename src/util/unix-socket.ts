import { lstatSync, statSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorMessage } from './errors';
import { findReplaceable } from './replaceable-path';

/** Linux allows 107 bytes and macOS 103. Node.js 20 cuts a longer path without an error, and uses the file of the shorter name. */
export const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** What a process of one user does with the socket at a path. */
export type SocketUse =
  /** Replaces it with its own, if no process listens on it. */
  | 'replace'
  /** Connects to a process of the same user, whose place it may take. */
  | 'own'
  /** Connects to a relay: of the same user, or of root, which could read all that this process has. */
  | 'relay';

/** The bits of the mode by which other users may connect. A socket of root may be for a group. */
const OTHERS: Readonly<Record<SocketUse, number>> = {
  replace: 0,
  own: 0o077,
  relay: 0o002,
};

/**
 * Reads what is at the path of a socket; `undefined` for nothing.
 *
 * @throws Error that names the path, the reason and the next step, if it is not to be used.
 */
export function readSocket(path: string, use: SocketUse): Stats | undefined {
  const tooLong = findLengthProblem(path);
  if (tooLong !== undefined) throw new Error(tooLong);
  const found = readStats(path);
  // Renaming the socket itself changes it. Its folder may be for all users, as an emptyDir of Kubernetes is.
  const isConnectedTo = found !== undefined && use !== 'replace';
  const problem =
    (found && findProblem(found, use)) ??
    (isConnectedTo ? findReplaceable(dirname(path)) : undefined);
  if (problem !== undefined) throw new Error(`${path}: ${problem}`);
  return found;
}

function readStats(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw socketError(path, error, CONNECT);
  }
}

/** Returns why a file is not used as a socket. The access of folders is for its connections to notice. */
function findProblem(found: Stats, use: SocketUse): string | undefined {
  if (found.isSymbolicLink()) {
    return 'there is a symbolic link, which may be of another user: name what it leads to';
  }
  if (!found.isSocket()) {
    return 'there is something else than a socket: remove it, or choose another path';
  }
  // Windows has no ids of users.
  const uid = process.getuid?.();
  if (uid === undefined) return undefined;
  const isTrusted = found.uid === uid || (use === 'relay' && found.uid === 0);
  if (!isTrusted) {
    return `the socket belongs to the user ${found.uid}, not to ${uid}: run the relay as the user of this process, or choose another path`;
  }
  if ((found.mode & OTHERS[use]) === 0) return undefined;
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  return `other users may connect to the socket, which has the mode ${mode}: chmod 0600, or SocketMode=0600 of its unit`;
}

/** Whether two results are of the same file, which has not been moved in between. */
export function isSameFile(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.ctimeMs === b.ctimeMs;
}

/** Returns why a path cannot be that of a socket; `undefined` if it can. */
export function findLengthProblem(path: string): string | undefined {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_PATH_BYTES) return undefined;
  return `${path}: the path has ${bytes} bytes, and that of a socket at most ${MAX_PATH_BYTES}: choose a shorter one`;
}

/** Returns why no process can have its socket at a path, whatever is done to it; `undefined` if one can. */
export function findPathProblem(path: string): string | undefined {
  return findLengthProblem(path) ?? (isFolder(path) ? folderProblem(path) : undefined);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    // A folder above it is closed to this user: the connection says so.
    return false;
  }
}

function folderProblem(path: string): string {
  return `${path}: is a folder: give the path of a socket in it, such as ${join(path, 'xds.sock')}`;
}

type Advice = Readonly<Record<string, string>>;

/** Errors of connections and of listening alike. */
const COMMON: Advice = {
  ENOTDIR: 'a part of its path is a file and no folder: check the path',
  ELOOP: 'its path has symbolic links that lead to each other: check the path',
  ENAMETOOLONG: `the path of a socket has at most ${MAX_PATH_BYTES} bytes: choose a shorter one`,
  EMFILE: 'this process has too many open files: raise its limit (ulimit -n)',
  ENFILE: 'this host has too many open files: raise its limit (fs.file-max)',
  EPERM: 'a policy of this host forbids it, such as SELinux, AppArmor or seccomp: see its log',
};

const CONNECT: Advice = {
  ...COMMON,
  ENOENT:
    'no socket is there: start the agent or relay that serves it, and mount its folder where this process sees it',
  ECONNREFUSED: 'no process listens on it: start the agent or relay that serves it',
  ENOTSOCK: 'there is something else than a socket: check the path',
  EPROTOTYPE: 'it is a socket for datagrams: check the path',
  EACCES:
    'the socket or a folder on its path is closed to this user: run this process as the user of the agent or relay',
  EAGAIN:
    'more connections wait than the socket takes (net.core.somaxconn): its process is blocked or stopped, or many start at once',
};

const LISTEN: Advice = {
  ...COMMON,
  ENOENT: 'its folder does not exist: create it, or choose another path',
  EACCES: 'this user may not create files in its folder: change its owner, or choose another path',
  EROFS: 'its file system is read-only: mount a volume there, or choose another path',
  ENOSPC: 'its file system is full: free some of it, or choose another path',
  EDQUOT: 'the quota of this user is used up: free some of it, or choose another path',
  EADDRINUSE: 'another process listens on it, or there is another file: choose another path',
  EISDIR: 'there is a folder: choose another path',
  EPERM:
    'its file system has no sockets, or a policy of this host forbids them: choose another path',
  ENOTSUP: 'its file system has no sockets: choose another path',
  EOPNOTSUPP: 'its file system has no sockets: choose another path',
};

/** Returns what to check after a connection to the socket of a path has failed; `undefined` for an unknown code. */
export function connectAdvice(code: string): string | undefined {
  return CONNECT[code];
}

/** Describes an error of a connection to the socket at a path. */
export function connectError(path: string, error: unknown): Error {
  return socketError(path, error, CONNECT);
}

/** Describes an error of listening on the socket at a path, whatever the name at which it was created first. */
export function listenError(path: string, error: unknown): Error {
  // Node.js says EACCES of a folder that is missing, too.
  const isMissing = codeOf(error) === 'EACCES' && !exists(dirname(path));
  return socketError(path, error, LISTEN, isMissing ? 'ENOENT' : undefined);
}

function socketError(path: string, error: unknown, advice: Advice, code = codeOf(error)): Error {
  const known = code === undefined ? undefined : advice[code];
  const reason = known === undefined ? errorMessage(error) : `${code}: ${known}`;
  return new Error(`${path}: ${reason}`, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error;
  return hasCode && typeof error.code === 'string' ? error.code : undefined;
}

function exists(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // A folder above it is closed to this user, which is the error.
    return true;
  }
}
