import {
  openResourceFile,
  type ResourceFileContent,
  type ResourceFileError,
  type PathSegment,
} from '../../control-plane';
import { printResult, type OutputFlags, type OutputFormat } from '../format';
import { type CliIo, exitCode } from '../io';
import { loadClient } from '../load-client';
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
    io.print(JSON.stringify(toSarif(file, findings, version), undefined, 2));
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

/** Judges all resources as a client does. */
function judgeAll(content: ResourceFileContent, io: CliIo): readonly CheckFinding[] {
  const judge = loadClient().createResourceJudge(io);
  const { snapshot, ignored } = content;
  const found: CheckFinding[] = [];
  const warnings: CheckFinding[] = ignored.map(({ kind, position, text }) => ({
    ...{ rule: kind, level: 'warning' as const, position, text },
  }));
  for (const kind of snapshot.kinds()) {
    for (const { name, value } of snapshot.set(kind).byName.values()) {
      const { violations, unusedFields } = judge({ typeUrl: kind.typeUrl, name, value });
      const resource = `${kind.label} ${JSON.stringify(name)}`;
      const locate = (text: string) => content.locate(kind, name, pathOf(text));
      for (const violation of violations) {
        const text = `${resource}: clients reject it (NACK): ${violation}`;
        const position = locate(violation);
        found.push({ rule: 'nack', level: 'error', position, resource, text });
      }
      for (const field of unusedFields) {
        const text = `${resource}: without effect on gRPC clients: ${field}`;
        const position = locate(field);
        warnings.push({ rule: 'unused-field', level: 'warning', position, resource, text });
      }
    }
  }
  return [...found, ...warnings];
}

const PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*(?=: | \(|$)/;
const STEP = /[A-Za-z_]\w*|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g;

/** Reads the path at the start of a violation, such as `endpoints[0].locality: field not present`. */
function pathOf(text: string): readonly PathSegment[] {
  const path = PATH.exec(text)?.[0] ?? '';
  return [...path.matchAll(STEP)].map(([step, index, key]) => {
    if (index !== undefined) return Number(index);
    return key === undefined ? step : String(JSON.parse(key));
  });
}

function formatFinding(file: string, { level, position, text }: CheckFinding): string {
  const place = position === undefined ? '' : `:${position.line}:${position.column}`;
  return `${file}${place}: ${level === 'warning' ? 'warning: ' : ''}${text}`;
}

/** The names of the resources, by kind. */
function namesOf({ snapshot }: ResourceFileContent): Record<string, readonly string[]> {
  return Object.fromEntries(
    kindsOf(snapshot).map((kind) => [titleOf(kind), [...snapshot.set(kind).byName.keys()]]),
  );
}
