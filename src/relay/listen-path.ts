import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { errorMessage } from '../util/errors';

/** Only the user of the process may connect to a socket. */
const SOCKET_MODE = 0o600;
const UMASK = 0o177;
/** Linux allows 107 bytes and macOS 103; the system's error does not say so. */
const MAX_PATH_BYTES = 103;

/**
 * Makes a path free for a socket: removes the socket that a process which was killed has left.
 *
 * @throws Error if the path cannot be used: it is no socket, another user's, or in use.
 */
export async function freePath(path: string): Promise<void> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new Error(`${path}: longer than the ${MAX_PATH_BYTES} bytes that a socket may have`);
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${path}: there is something else than a socket`);
  const uid = process.getuid?.();
  if (found.uid !== uid) {
    throw new Error(`${path}: the socket belongs to the user ${found.uid}, not to ${uid}`);
  }
  if (await isListenedOn(path)) throw new Error(`${path}: another process listens on it`);
  unlinkSync(path);
}

/** Listens on a path to which only the user of the process can connect, from its creation on. */
export async function listenPrivately<T>(path: string, listen: () => Promise<T>): Promise<T> {
  // Worker threads have no umask of their own and cannot set that of the process.
  const before = isMainThread ? process.umask(UMASK) : undefined;
  let listening: Promise<T>;
  try {
    // The socket is created before this returns.
    listening = listen();
  } finally {
    if (before !== undefined) process.umask(before);
  }
  const result = await listening;
  chmodSync(path, SOCKET_MODE);
  return result;
}

function isListenedOn(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(new Error(`${path}: ${errorMessage(error)}`));
    });
  });
}
