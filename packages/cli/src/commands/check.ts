import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  openResourceText,
  type PathSegment,
  type ResourceFileContent,
  type TextPosition,
  type ResourceFileError,
  type ResourceFileOptions,
} from 'grpc-xds/control-plane';
import {
  exitCode,
  printResult,
  type CliIo,
  type OutputFlags,
  type OutputFormat,
  loadClient,
} from '../io';

import { expandFolders, findReadTwice, readResourceText } from '../input';
import { formatSnapshot, kindsOf, titleOf } from '../output';

/** Judges all resources as a client does. */
export function judgeAll(content: ResourceFileContent, io: CliIo): readonly CheckFinding[] {
  const { createResourceJudge, describeUseless } = loadClient();
  const judge = createResourceJudge(io);
  const { snapshot, ignored } = content;
  const found: CheckFinding[] = [];
  const warnings: CheckFinding[] = ignored.map(({ kind, position, text }) => ({
    rule: kind,
    level: 'warning' as const,
    position,
    text,
  }));
  for (const kind of snapshot.kinds()) {
    for (const { name, value } of snapshot.set(kind).byName.values()) {
      const { reader, violations, unusedFields, unusable, listener } = judge({
        typeUrl: kind.typeUrl,
        name,
        value,
      });
      const resource = `${kind.label} ${JSON.stringify(name)}`;
      const locate = (text: string) => content.locate(kind, name, pathOf(text));
      for (const violation of violations) {
        const text = `${resource}: ${reader} reject it (NACK): ${violation}`;
        const position = locate(violation);
        found.push({ rule: 'nack', level: 'error', position, resource, text });
      }
      if (unusable !== undefined) {
        const text = `${resource}: ${unusable}`;
        const position = locate('');
        warnings.push({ rule: 'unusable-endpoints', level: 'warning', position, resource, text });
      }
      for (const each of listener === undefined ? [] : describeUseless(listener)) {
        const text = `${resource}: ${each}`;
        const position = locate('');
        warnings.push({ rule: 'useless-on-server', level: 'warning', position, resource, text });
      }
      for (const field of unusedFields) {
        const text = `${resource}: without effect on gRPC ${reader}: ${field}`;
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
  | 'unreadable'
  | 'syntax'
  | 'schema'
  | 'reference'
  | 'nack'
  | 'unused-field'
  | 'envoy-field'
  | 'unusable-endpoints'
  | 'useless-on-server';

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
  nack: 'gRPC clients, or servers, reject the resource (NACK).',
  'unused-field': 'The field has no effect on gRPC clients, or servers.',
  'envoy-field': 'Only Envoy reads the field; gRPC clients drop it.',
  'unusable-endpoints': 'Endpoints get no calls, or a cluster has none that does.',
  'useless-on-server':
    'A part of the Listener of a server has no effect, or another one than it seems to have.',
};

/**
 * Writes findings as a SARIF log, which code hosts and editors show beside the lines of the file
 * (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
 */
function toSarif(files: readonly CheckedFile[], version: string): object {
  const ids = Object.keys(rules);
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'grpc-xds',
            semanticVersion: version,
            rules: Object.entries(rules).map(([id, text]) => ({ id, shortDescription: { text } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: files.flatMap(({ file, findings }) =>
          findings.map((finding) => ({
            ruleId: finding.rule,
            ruleIndex: ids.indexOf(finding.rule),
            level: finding.level,
            message: { text: finding.text },
            locations: [
              {
                physicalLocation: { artifactLocation: { uri: uriOf(file) }, ...regionOf(finding) },
              },
            ],
          })),
        ),
      },
    ],
  };
}

function uriOf(file: string): string {
  return isAbsolute(file) ? pathToFileURL(file).href : encodeURI(file.replaceAll('\\', '/'));
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

/** What was found in one file. */
interface CheckedFile {
  readonly file: string;
  readonly findings: readonly CheckFinding[];
  /** Absent for a file that cannot be served. */
  readonly content: ResourceFileContent | undefined;
}

/** What a file does not show; `grpc-xds doctor` does. */
const NOT_SEEN =
  'not seen in a file: whether hosts and endpoints can be reached, and certificates; npx grpc-xds-cli doctor checks these';

/**
 * Reads resource files, also those of folders and the standard input, and prints their content or their errors: why the
 * management server cannot serve them, and otherwise the violations for which clients reject resources. Prints a warning for
 * each field that gRPC clients do not use, and for endpoints without calls.
 *
 * @param version That of this package, for SARIF.
 * @returns the exit code.
 */
export async function check(
  paths: readonly string[],
  flags: CheckFlags,
  version: string,
  io: CliIo,
): Promise<number> {
  const twice = findReadTwice(paths);
  if (twice !== undefined) {
    io.printError(twice);
    return exitCode.badInput;
  }
  const files: CheckedFile[] = [];
  for (const path of expandFolders(paths)) files.push(await checkFile(path, flags, io));
  const { output } = flags;
  if (output === 'sarif') {
    io.printDocument(JSON.stringify(toSarif(files, version), undefined, 2));
  } else {
    const [only, ...more] = files.map(describeFile);
    const result = more.length === 0 ? only : { files: [only, ...more] };
    printResult(result, { ...flags, output }, io, () => printFiles(files, io));
  }
  const findings = files.flatMap((file) => file.findings);
  if (findings.some(({ rule }) => rule === 'unreadable')) return exitCode.badInput;
  return findings.some(({ level }) => level === 'error') ? exitCode.findings : exitCode.fine;
}

async function checkFile(path: string, flags: FileFlags, io: CliIo): Promise<CheckedFile> {
  const text = await readResourceText(path, io);
  if (!text.ok) {
    const finding: CheckFinding = {
      rule: 'unreadable',
      level: 'error',
      text: `cannot be read: ${text.error}`,
    };
    return { file: path, findings: [finding], content: undefined };
  }
  const content = openResourceText(text.value, path, fileOptionsOf(flags));
  return content.ok
    ? { file: path, findings: judgeAll(content.value, io), content: content.value }
    : { file: path, findings: problemsOf(content.error), content: undefined };
}

function describeFile({ file, findings, content }: CheckedFile): object {
  return { file, findings, resources: content && namesOf(content) };
}

function printFiles(files: readonly CheckedFile[], io: CliIo): void {
  let hasGood = false;
  for (const { file, findings, content } of files) {
    for (const finding of findings) io.printError(formatFinding(file, finding));
    if (content === undefined || findings.some(({ level }) => level === 'error')) continue;
    hasGood = true;
    io.print(`${file} is good:`);
    for (const line of formatSnapshot(content.snapshot)) io.print(line);
  }
  if (hasGood) io.print(NOT_SEEN);
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
