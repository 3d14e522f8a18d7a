import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync, // eslint-disable-line no-restricted-imports -- opens a file to write it
  statSync,
} from 'node:fs';
import { errorMessage } from '../../../src/util/errors';
import { kindOf } from '../../../src/util/read-regular-file';
import { err, ok, type Result } from '../../../src/util/result';

/** How a file is written. */
export interface OutputFileOptions {
  /** Replaces a file that exists. */
  readonly force?: boolean | undefined;
  /** Writes at the end of a file that exists. */
  readonly append?: boolean | undefined;
  /** What else can be done about a file that exists, such as `--append continues it`. */
  readonly alternative?: string;
  /** Whether only the user of this process may read the file. Default: as the umask has it. */
  readonly isPrivate?: boolean;
}

const DEFAULTS = { force: false, append: false, isPrivate: false, alternative: '' };
const PRIVATE_MODE = 0o600;
const DEFAULT_MODE = 0o666;

/**
 * Opens a file that a command writes. A file that exists is refused, unless the options say otherwise; a FIFO or a folder
 * is always, without waiting for the reader of a FIFO. A device such as /dev/null is written to.
 *
 * @returns the descriptor, or an error with the name of the file and what can be done.
 */
export function openOutputFile(path: string, options: OutputFileOptions): Result<number, string> {
  const { force, append, isPrivate, alternative } = { ...DEFAULTS, ...options };
  const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NONBLOCK } = constants;
  const flags = O_WRONLY | O_CREAT | O_NONBLOCK | (append ? O_APPEND : 0);
  let descriptor: number | undefined;
  try {
    const mayExist = force || append || isDevice(path);
    const mode = isPrivate ? PRIVATE_MODE : DEFAULT_MODE;
    descriptor = openSync(path, flags | (mayExist ? 0 : O_EXCL), mode);
    const stats = fstatSync(descriptor);
    if (stats.isCharacterDevice()) return ok(descriptor);
    if (!stats.isFile()) throw new Error(`${kindOf(stats)}, not a regular file`);
    if (isPrivate) fchmodSync(descriptor, PRIVATE_MODE);
    if (!append) ftruncateSync(descriptor);
    return ok(descriptor);
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    return err(`${path}: cannot be written: ${describe(error, alternative)}`);
  }
}

function isDevice(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isCharacterDevice() === true;
}

function describe(error: unknown, alternative: string): string {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error;
  const code: unknown = hasCode ? error.code : undefined;
  switch (code) {
    case 'EEXIST':
      return `it exists; --force replaces it${alternative === '' ? '' : `, ${alternative}`}`;
    case 'ENXIO':
      return 'a FIFO or a device, not a regular file';
    case 'ENOENT':
      return 'its folder does not exist; create the folder, or give another path';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied; give another path, or change its permissions';
    default:
      return errorMessage(error);
  }
}
