import {
  openResourceFile,
  type ResourceFileContent,
  type ResourceFileError,
} from '../../control-plane';
import { printResult, type OutputFlags, type OutputFormat } from '../format';
import { type CliIo, exitCode } from '../io';
import { formatFinding, judgeAll } from '../judge-file';
import { formatSnapshot, kindsOf, titleOf } from '../output';
import { type CheckFinding, toSarif } from '../sarif';

/** Flags of every command that reads a resource file. */
export interface FileFlags {
  /** Accept references to resources the file does not have. */
  readonly allowInconsistent?: boolean;
  /** Skip fields the schema does not have. */
  readonly ignoreUnknownFields?: boolean;
}

/** Flags of `check`. */
export interface CheckFlags extends FileFlags, Omit<OutputFlags, 'output'> {
  readonly output: OutputFormat | 'sarif';
}

/**
 * Reads a resource file and prints its content or its errors: why the management server cannot serve it, and otherwise
 * the violations for which clients reject resources. Prints a warning for each field that gRPC clients do not use.
 *
 * @param version That of this package, for SARIF.
 * @returns the exit code.
 */
export function check(file: string, flags: CheckFlags, version: string, io: CliIo): number {
  const content = openResourceFile(file, flags);
  const findings = content.ok ? judgeAll(content.value, io) : problemsOf(content.error);
  const errors = findings.filter(({ level }) => level === 'error').length;
  if (flags.output === 'sarif' && flags.json !== true) {
    io.printDocument(JSON.stringify(toSarif(file, findings, version), undefined, 2));
  } else {
    const output = flags.output === 'sarif' ? 'json' : flags.output;
    const resources = content.ok ? namesOf(content.value) : undefined;
    printResult({ file, findings, resources }, { ...flags, output }, io, () => {
      for (const finding of findings) io.printError(formatFinding(file, finding));
      if (!content.ok || errors > 0) return;
      io.print(`${file} is good:`);
      for (const line of formatSnapshot(content.value.snapshot)) io.print(line);
    });
  }
  if (findings.some(({ rule }) => rule === 'unreadable')) return exitCode.badInput;
  return errors > 0 ? exitCode.findings : exitCode.fine;
}

function problemsOf({ problems }: ResourceFileError): readonly CheckFinding[] {
  return problems.map(({ kind, position, text }) => ({
    rule: kind,
    level: 'error',
    position,
    text,
  }));
}

/** The names of the resources, by kind. */
function namesOf({ snapshot }: ResourceFileContent): Record<string, readonly string[]> {
  return Object.fromEntries(
    kindsOf(snapshot).map((kind) => [titleOf(kind), [...snapshot.set(kind).byName.keys()]]),
  );
}
