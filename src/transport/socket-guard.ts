import type { Stats } from 'node:fs';
import { isSameFile, readSocket } from '../util/unix-socket';
import type { ConnectionGuard } from './connection-credentials';

/**
 * Lets a client connect to the socket of a relay only if that is of its own user or of root. Node.js cannot read which user has accepted
 * a connection (`SO_PEERCRED`): what is at the path is examined before and after, and must be the same.
 */
export class SocketGuard implements ConnectionGuard {
  private before: Stats | undefined;

  constructor(private readonly path: string) {}

  onConnecting(): void {
    this.before = readSocket(this.path, 'relay');
  }

  onConnected(): void {
    const { before, path } = this;
    const now = readSocket(path, 'relay');
    if (before !== undefined && now !== undefined && isSameFile(before, now)) return;
    throw new Error(`${path}: the socket was replaced while this process connected to it`);
  }
}
