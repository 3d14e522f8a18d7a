import { existsSync, lstatSync, mkdirSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Only the user of the process may look into the folder. */
const FOLDER_MODE = 0o700;

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

function folderOfUser(): string {
  return join(tmpdir(), `grpc-xds-${process.getuid?.() ?? 'user'}`);
}

/** Containers that share a folder have processes of the same id: each has a namespace of them. Only Linux does. */
function pidNamespace(): string {
  const path = '/proc/self/ns/pid';
  return existsSync(path) ? readlinkSync(path).replace(/\D/g, '') : '0';
}
