// eslint-disable-next-line no-restricted-imports -- this is the one reader
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { ByteCollector } from './bytes';
import { errorMessage } from './errors';
import { err, ok, type Result } from './result';

/** Conditions on a file. */
export interface FileConditions {
  /** Maximum size; a larger file is an error. */
  readonly maxBytes: number;
  /** Whether the file must belong to the user of this process or to root, and be writable by its owner only. */
  readonly isPrivate?: boolean;
}

const GROUP_OR_OTHERS_WRITE = 0o022;
const CHUNK_BYTES = 64 * 1024;
const ROOT = 0;

/**
 * Reads a file without blocking: a FIFO, a device or a socket is an error, and opening a FIFO does not wait for a
 * writer (https://pubs.opengroup.org/onlinepubs/9799919799/functions/open.html, O_NONBLOCK). The conditions are checked
 * on the descriptor, so that the file cannot be replaced between the check and the reading.
 *
 * @returns the content, or an error text.
 */
export function readRegularFile(path: string, conditions: FileConditions): Result<Buffer, string> {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    const problem = findProblem(stats, conditions);
    return problem === undefined
      ? readAll(descriptor, stats.size, conditions.maxBytes)
      : err(problem);
  } catch (error) {
    return err(errorMessage(error));
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Reads a file as `readRegularFile` does. @returns the text, or an error text. */
export function readRegularText(path: string, conditions: FileConditions): Result<string, string> {
  const read = readRegularFile(path, conditions);
  return read.ok ? ok(read.value.toString('utf8')) : read;
}

function findProblem(stats: Stats, { maxBytes, isPrivate }: FileConditions): string | undefined {
  if (!stats.isFile()) return `${kindOf(stats)}, not a regular file`;
  if (stats.size > maxBytes) return `${stats.size} bytes, more than ${maxBytes}`;
  return isPrivate === true ? findIntruder(stats) : undefined;
}

/** Describes other users that may have written the file. Windows has neither users nor modes of this kind. */
function findIntruder({ uid, mode }: Stats): string | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  if (uid !== user && uid !== ROOT) return `belongs to user ${uid}, not to user ${user} or root`;
  if ((mode & GROUP_OR_OTHERS_WRITE) === 0) return undefined;
  return `can be written by others than its owner (mode ${(mode & 0o777).toString(8)}); run chmod go-w on it`;
}

/** Names the kind of what is not a regular file. */
export function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO';
  return stats.isSocket() ? 'a socket' : 'a device';
}

/** Reads to the end, which may be beyond the file's size: it may grow, and files in /proc have no size. */
function readAll(descriptor: number, size: number, maxBytes: number): Result<Buffer, string> {
  const content = new ByteCollector(maxBytes, size);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (;;) {
    const length = readSync(descriptor, chunk);
    if (length === 0) return ok(content.bytes);
    if (!content.add(chunk.subarray(0, length))) return err(`more than ${maxBytes} bytes`);
  }
}
