import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { rename, unlink, writeFile } from 'node:fs/promises';
import { errorMessage } from './errors';
import { kindOf } from './read-regular-file';

/** Readable by the owner only: a configuration may have confidential names. */
const FILE_MODE = 0o600;

/**
 * Replaces a file atomically.
 * @throws Error if it cannot be written, or if there is something other than a file.
 */
export async function replaceFile(path: string, content: Uint8Array | string): Promise<void> {
  checkReplaceable(path);
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, content, { mode: FILE_MODE, flush: true });
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    // The name of the other file differs each time: the same problem has the same text.
    throw new Error(errorMessage(error).replaceAll(temporary, path), { cause: error });
  }
}

/**
 * A process of root could replace a device, such as `/dev/null`, for all others.
 * @throws Error if there is something other than a file, also behind a link.
 */
function checkReplaceable(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() === false) throw new Error(`${kindOf(stats)}, not a regular file`);
}
