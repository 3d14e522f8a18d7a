import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, renameSync, unlinkSync, type Stats } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import type { ListeningSocket } from 'grpc-xds/internal';
import {
  connectError,
  listenError,
  MAX_PATH_BYTES,
  readSocket,
} from '../../../src/util/unix-socket';

/** Only the user of the process may connect to a socket. */
const SOCKET_MODE = 0o600;
const UMASK = 0o177;

/** Another process listens on a path. */
export class PathInUseError extends Error {}

/**
 * The path of a socket that this process listens on, and no other. It ends with the process: a path whose socket refuses
 * connections is free.
 *
 * The socket is created under another name, with its mode, and replaces what is at the path by a rename, which is atomic. Of
 * several processes that find a path free at the same time, the last one to rename has it; the others notice that by `isOurs`
 * and end. Two of them serve for that long, and no longer.
 */
export class ClaimedPath implements ListeningSocket {
  private waiting: Socket[] | undefined = [];

  private constructor(
    readonly server: Server,
    readonly path: string,
    private readonly stats: Stats,
  ) {
    server.on('connection', (socket) => {
      socket.unref();
      // The listener that takes it over has its own.
      socket.on('error', () => {});
      this.waiting?.push(socket);
    });
  }

  /**
   * Listens on a path, in place of the socket that a process which was killed has left. It does not keep the process alive.
   *
   * @throws PathInUseError if another process listens on it.
   * @throws Error if it cannot be used: it is too long, no socket or another user's, or its folder cannot be written to.
   */
  static async claim(path: string): Promise<ClaimedPath> {
    const folder = dirname(path);
    const temporary = join(folder, `.${randomBytes(4).toString('hex')}`);
    const stale = readSocket(path, 'replace');
    if (Buffer.byteLength(temporary) > MAX_PATH_BYTES) {
      throw new Error(
        `${path}: its folder leaves no room for a temporary name: choose a shorter one`,
      );
    }
    if (stale !== undefined && (await isListenedOn(path))) throw inUse(path);
    const server = await listenPrivately(temporary, path);
    try {
      // Nothing runs in between in this process, and next to nothing in others.
      if (readSocket(path, 'replace')?.ino !== stale?.ino) throw inUse(path);
      rename(temporary, path);
      return new ClaimedPath(server, path, lstatSync(path));
    } catch (error) {
      // Removes the temporary name as well.
      server.close();
      throw error;
    }
  }

  /** Whether the socket at the path is still that of this process. */
  isOurs(): boolean {
    const found = lstatSync(this.path, { throwIfNoEntry: false });
    return found !== undefined && found.ino === this.stats.ino && found.dev === this.stats.dev;
  }

  /** Returns the connections so far. The later ones are for the listeners of the server. */
  takeConnections(): readonly Socket[] {
    const { waiting = [] } = this;
    this.waiting = undefined;
    return waiting;
  }

  /** Stops listening, as a crash does: the file stays. */
  abandon(): void {
    this.server.close();
  }

  /** Removes the socket from the path, so that others can have it, and stops listening. */
  release(): void {
    try {
      if (this.isOurs()) unlinkSync(this.path);
    } catch {
      // It stays as one that refuses connections.
    }
    this.server.close();
    for (const socket of this.takeConnections()) socket.destroy();
  }
}

/**
 * Listens on a path to which only the user of the process can connect, from its creation on.
 *
 * @param shown The path in errors.
 */
function listenPrivately(path: string, shown: string): Promise<Server> {
  const server = createServer({ noDelay: true });
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenError(shown, error)));
    server.once('listening', () => {
      try {
        chmodSync(path, SOCKET_MODE);
        server.removeAllListeners('error');
        // A later error is that of one accept; its client sees the failed connection.
        server.on('error', () => {});
        resolve(server.unref());
      } catch (error) {
        server.close();
        reject(listenError(shown, error));
      }
    });
    // Worker threads have no umask of their own and cannot set that of the process.
    const before = isMainThread ? process.umask(UMASK) : undefined;
    try {
      // The socket is created before this returns. In a worker of node:cluster, the primary would listen in its place.
      server.listen({ path, exclusive: true });
    } finally {
      if (before !== undefined) process.umask(before);
    }
  });
}

function rename(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    throw listenError(to, error);
  }
}

/**
 * Returns whether a process listens on a socket.
 *
 * @throws Error if it is not known, such as for one that this process may not connect to.
 */
export function isListenedOn(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      // More connections wait than the socket takes.
      else if (error.code === 'EAGAIN') resolve(true);
      else reject(connectError(path, error));
    });
  });
}

function inUse(path: string): PathInUseError {
  return new PathInUseError(`${path}: another process listens on it`);
}
