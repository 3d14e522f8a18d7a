import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorMessage } from '../../util/error-message';
import type { BootstrapTemplate } from '../bootstrap-templates';
import { type CliIo, exitCode } from '../io';
import { loadClient } from '../load-client';

/** Flags of every kind of `bootstrap`. */
export interface BootstrapFlags {
  /** Where it is written. Default: the standard output. */
  readonly file?: string;
  /** Whether an existing file is replaced. */
  readonly force?: boolean;
}

/**
 * Writes a bootstrap, after the parser of the client has read it.
 *
 * @returns the exit code: bad input, if the client cannot use it or the file cannot be written.
 */
export function writeBootstrap(
  bootstrap: BootstrapTemplate,
  { file, force = false }: BootstrapFlags,
  io: CliIo,
): number {
  const violations = loadClient().validateBootstrap(bootstrap, io);
  for (const violation of violations) io.printError(violation);
  if (violations.length > 0) return exitCode.badInput;
  const text = JSON.stringify(bootstrap, undefined, 2);
  if (file === undefined) {
    io.printDocument(text);
    return exitCode.fine;
  }
  try {
    writeFileSync(file, `${text}\n`, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    const advice = force ? '' : '; --force replaces a file that exists';
    io.printError(`${errorMessage(error)}${advice}`);
    return exitCode.badInput;
  }
  io.print(`export GRPC_XDS_BOOTSTRAP=${resolve(file)}`);
  return exitCode.fine;
}
