import { loadResourceFile, type Snapshot } from '../../control-plane';
import { type CliIo, exitCode } from '../io';
import { loadClient } from '../load-client';
import { formatSnapshot } from '../output';

/** Flags of every command that reads a resource file. */
export interface FileFlags {
  /** Accept references to resources the file does not have. */
  readonly allowInconsistent?: boolean;
  /** Skip fields the schema does not have. */
  readonly ignoreUnknownFields?: boolean;
}

/**
 * Reads a resource file and prints its content or its errors: why the management server cannot serve it, and otherwise
 * the violations for which clients reject resources. Prints a warning for each resource with fields that gRPC clients do
 * not use.
 *
 * @returns the exit code.
 */
export function check(file: string, flags: FileFlags, io: CliIo): number {
  const snapshot = loadResourceFile(file, flags);
  if (!snapshot.ok) {
    io.printError(snapshot.error.message);
    return exitCode.findings;
  }
  const { rejections, warnings } = judgeAll(snapshot.value, io);
  for (const rejection of rejections) io.printError(`${file}: ${rejection}`);
  for (const warning of warnings) io.printError(`${file}: warning: ${warning}`);
  if (rejections.length > 0) return exitCode.findings;
  io.print(`${file} is good:`);
  for (const line of formatSnapshot(snapshot.value)) io.print(line);
  return exitCode.fine;
}

interface Findings {
  /** One for each violation for which clients reject a resource. */
  readonly rejections: string[];
  /** One for each resource with fields that have no effect on clients. */
  readonly warnings: string[];
}

function judgeAll(snapshot: Snapshot, io: CliIo): Findings {
  const judge = loadClient().createResourceJudge(io);
  const found: Findings = { rejections: [], warnings: [] };
  for (const kind of snapshot.kinds()) {
    for (const { name, value } of snapshot.set(kind).byName.values()) {
      const { violations, unusedFields } = judge({ typeUrl: kind.typeUrl, name, value });
      const subject = `${kind.label} ${JSON.stringify(name)}`;
      for (const violation of violations) {
        found.rejections.push(`${subject}: clients reject it (NACK): ${violation}`);
      }
      if (unusedFields.length === 0) continue;
      found.warnings.push(`${subject}: without effect on gRPC clients: ${unusedFields.join(', ')}`);
    }
  }
  return found;
}
