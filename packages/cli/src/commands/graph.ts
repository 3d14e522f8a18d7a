import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import type { GraphFormat } from '../client';
import { hasValue, type Dump } from '../dump/dump';
import { readSource, sourceOf, type OneSourceFlags } from '../dump/read-source';
import {
  exitCode,
  loadClient,
  printErrors,
  printResult,
  type CliIo,
  type OutputFlags,
} from '../io';

/** The formats besides those of all commands. */
export const GRAPH_FORMATS = ['svg'] as const;

/** The columns of what no call goes through. */
const OFF_THE_WAY: ReadonlySet<string> = new Set(['process', 'relay', 'management server']);

/** Flags of commands that draw. */
export interface DrawingFlags extends Omit<OutputFlags, 'output'> {
  readonly output: OutputFlags['output'] | (typeof GRAPH_FORMATS)[number];
}

/** Flags of `graph`. */
export interface GraphFlags extends Omit<OneSourceFlags, 'target'>, DrawingFlags {
  /** A resource file. */
  readonly file?: string;
}

/**
 * Draws where the calls of a target go.
 *
 * @returns the exit code: findings, if there is something on the way that fails.
 */
export async function graph(target: string, flags: GraphFlags, io: CliIo): Promise<number> {
  const { file, timeout } = flags;
  const { picture, output } = splitFormat(flags);
  const rest = { ...flags, output };
  const source = sourceOf(file, rest);
  if (source === undefined) {
    io.printError(
      'give one source: --file, --admin, --page, --pid, --control-plane or --bootstrap',
    );
    return exitCode.badInput;
  }
  const read = await readSource(source, { target, timeoutMs: timeout * 1000 }, io);
  if (!read.ok) {
    printErrors(read.error.problems, io);
    return read.error.code;
  }
  const dump = read.value;
  const resources = dump.resources.filter(hasValue);
  const drawing = loadClient()
    .loadDrawings()
    .drawTarget({ resources, policies: policiesOf(dump, target), report: dump.report }, target, io);
  if (!drawing.ok) {
    io.printError(`${dump.source}: ${drawing.error}`);
    return exitCode.findings;
  }
  const { graph: drawn } = drawing.value;
  const write = (format: GraphFormat) => io.printDocument(drawing.value.write(format));
  if (picture !== undefined) write(picture);
  else printResult(drawn, rest, io, () => write('tree'));
  // A management server that cannot be reached is not on the way of a call.
  const hasFailing = drawn.nodes.some(
    ({ state, column }) => state === 'failing' && !OFF_THE_WAY.has(column),
  );
  return hasFailing ? exitCode.findings : exitCode.fine;
}

/** Returns the format of a picture, if the flags have one, and that of other results. */
export function splitFormat({ output }: DrawingFlags): {
  readonly picture: (typeof GRAPH_FORMATS)[number] | undefined;
  readonly output: OutputFlags['output'];
} {
  const isPicture = output === 'svg';
  return {
    picture: isPicture ? output : undefined,
    output: isPicture ? 'table' : output,
  };
}

/** Returns the policies of a target in the report of a process; undefined if there is none. */
export function policiesOf({ report }: Dump, target: string): unknown {
  if (!isJsonObject(report) || !Array.isArray(report['targets'])) return undefined;
  const targets = report['targets'].filter(isJsonObject);
  return targets.find((each) => each['target'] === target)?.['policies'];
}
