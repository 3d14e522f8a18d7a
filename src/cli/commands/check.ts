import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  openResourceFile,
  type PathSegment,
  type ResourceFileContent,
  type TextPosition,
  type ResourceFileError,
  type ResourceFileOptions,
} from '../../control-plane';
import {
  exitCode,
  printResult,
  type CliIo,
  type OutputFlags,
  type OutputFormat,
  loadClient,
} from '../io';

import { formatSnapshot, kindsOf, titleOf } from '../output';

/** Judges all resources as a client does. */
export function judgeAll(content: ResourceFileContent, io: CliIo): readonly CheckFinding[] {
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

/** Formats a finding as `file:line:column: text`. */
export function formatFinding(file: string, { level, position, text }: CheckFinding): string {
  const place = position === undefined ? '' : `:${position.line}:${position.column}`;
  return `${file}${place}: ${level === 'warning' ? 'warning: ' : ''}${text}`;
}

/** A rule that a resource file can break. */
export type CheckRule =
  'unreadable' | 'syntax' | 'schema' | 'reference' | 'nack' | 'unused-field' | 'envoy-field';

/** An error or a warning about a resource file. */
export interface CheckFinding {
  readonly rule: CheckRule;
  readonly level: 'error' | 'warning';
  readonly position?: TextPosition | undefined;
  /** Such as `cluster "shop"`. */
  readonly resource?: string;
  readonly text: string;
}

const rules: Readonly<Record<CheckRule, string>> = {
  unreadable: 'The file cannot be read.',
  syntax: 'The text is not YAML or JSON.',
  schema: 'A resource does not have the form of its type.',
  reference: 'A resource refers to one that the file does not have.',
  nack: 'gRPC clients reject the resource (NACK).',
  'unused-field': 'The field has no effect on gRPC clients.',
  'envoy-field': 'Only Envoy reads the field; gRPC clients drop it.',
};

/**
 * Writes findings as a SARIF log, which code hosts and editors show beside the lines of the file
 * (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
 */
function toSarif(file: string, findings: readonly CheckFinding[], version: string): object {
  const ids = Object.keys(rules);
  const uri = isAbsolute(file) ? pathToFileURL(file).href : encodeURI(file.replaceAll('\\', '/'));
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            ...{ name: 'grpc-xds', semanticVersion: version },
            rules: Object.entries(rules).map(([id, text]) => ({ id, shortDescription: { text } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => ({
          ...{ ruleId: finding.rule, ruleIndex: ids.indexOf(finding.rule), level: finding.level },
          message: { text: finding.text },
          locations: [{ physicalLocation: { artifactLocation: { uri }, ...regionOf(finding) } }],
        })),
      },
    ],
  };
}

function regionOf({ position }: CheckFinding): object {
  if (position === undefined) return {};
  return { region: { startLine: position.line, startColumn: position.column } };
}

/** Flags of every command that reads a resource file. */
export interface FileFlags {
  /** Accept references to resources the file does not have. */
  readonly allowInconsistent?: boolean;
  /** Skip fields the schema does not have. */
  readonly ignoreUnknownFields?: boolean;
}

/** Returns the options of reading a resource file, without the other flags of a command. */
export function fileOptionsOf({
  allowInconsistent,
  ignoreUnknownFields,
}: FileFlags): ResourceFileOptions {
  return { allowInconsistent, ignoreUnknownFields };
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
  const content = openResourceFile(file, fileOptionsOf(flags));
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
