import { loadResourceFile } from '../../control-plane';
import type { CliIo } from '../cli-io';
import { formatSnapshot } from '../snapshot-table';

/** Flags of every command that reads a resource file. */
export interface FileFlags {
  /** Accept references to resources the file does not have. */
  readonly allowInconsistent?: boolean;
  /** Skip fields the schema does not have. */
  readonly ignoreUnknownFields?: boolean;
}

/**
 * Reads a resource file and says what is wrong with it, or what is in it.
 *
 * @returns the exit code.
 */
export function check(file: string, flags: FileFlags, io: CliIo): number {
  const snapshot = loadResourceFile(file, flags);
  if (!snapshot.ok) {
    io.printError(snapshot.error.message);
    return 1;
  }
  io.print(`${file} is good:`);
  for (const line of formatSnapshot(snapshot.value)) io.print(line);
  return 0;
}
