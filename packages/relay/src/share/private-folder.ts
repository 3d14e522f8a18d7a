import { existsSync, lstatSync, mkdirSync, readlinkSync } from 'node:fs';
import { readdir, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isListenedOn } from '../claimed-path';
import { readSocket } from '../../../../src/util/unix-socket';

/** Only the user of the process may look into the folder. */
const FOLDER_MODE = 0o700;

/** Names of sockets: those of `threadSocketPath`, with a hash or without, and those of sockets that are being made. */
const SOCKET_NAME = /^(?:(?<pid>\d+)-\d+\.sock(?:-[0-9a-f]{8})?|\.[0-9a-f]{8})$/;
/** Sockets that one process examines. */
const MAX_SWEPT = 1000;

/** Returns the path of the socket that the threads of this process share. */
export function threadSocketPath(): string {
  return join(folderOfUser(), `${process.pid}-${pidNamespace()}.sock`);
}

/**
 * Makes the folder of that socket.
 *
 * @throws Error if it is not a folder of this user alone: in a folder that everyone can write to, another user may have made it.
 */
export function preparePrivateFolder(): void {
  const folder = folderOfUser();
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  const found = lstatSync(folder);
  if (!found.isDirectory()) throw new Error(`${folder}: there is something else than a folder`);
  if (found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw new Error(`${folder}: must belong to this user alone, with the mode 0700`);
  }
}

/** Removes the sockets that processes which were killed have left in that folder: those of this user that nothing listens on. */
export async function removeStaleSockets(): Promise<void> {
  const folder = folderOfUser();
  const names = (await readdir(folder)).filter((name) => {
    const match = SOCKET_NAME.exec(name);
    return match !== null && match.groups?.['pid'] !== String(process.pid);
  });
  for (const name of names.slice(0, MAX_SWEPT)) await removeIfStale(join(folder, name));
}

async function removeIfStale(path: string): Promise<void> {
  try {
    if (readSocket(path, 'replace') !== undefined && !(await isListenedOn(path)))
      await unlink(path);
  } catch {
    // It is another user's, no socket, or in use, or another process has removed it.
  }
}

function folderOfUser(): string {
  return join(tmpdir(), `grpc-xds-${process.getuid?.() ?? 'user'}`);
}

/** Containers that share a folder have processes of the same id: each has a namespace of them. Only Linux does. */
function pidNamespace(): string {
  const path = '/proc/self/ns/pid';
  return existsSync(path) ? readlinkSync(path).replace(/\D/g, '') : '0';
}
