import { formatDump, toResourceFile } from '../dump/dump';
import { err, ok, type Result } from '../../../../src/util/result';
import {
  parseSource,
  readSource,
  sourceOf,
  type OneSourceFlags,
  type ResourceSource,
} from '../dump/read-source';
import { exitCode, printErrors, printResult, type CliIo } from '../io';
import { diff } from './diff';
import { splitFormat, type DrawingFlags } from './graph';

/** Flags of `dump`. */
export interface DumpFlags extends OneSourceFlags, DrawingFlags {
  /** Another source, such as `after.yaml` or `pid:4711`: prints what it has otherwise. */
  readonly diff?: string;
}

/**
 * Prints the resources of a process, a control plane or a file, with their states, or compares them with another source.
 *
 * @param text The source, unless a flag names it.
 * @returns the exit code: findings, if a resource is rejected or missing, or if the sources differ.
 */
export async function dump(text: string | undefined, flags: DumpFlags, io: CliIo): Promise<number> {
  const source = chosenSource(text, flags);
  if (!source.ok) {
    io.printError(source.error);
    return exitCode.badInput;
  }
  const { diff: other, target } = flags;
  if (other !== undefined) return diff(source.value, other, flags, io);
  const { picture, output } = splitFormat(flags);
  if (picture !== undefined) {
    io.printError(
      `--output ${picture} needs --diff; to draw one source, use: npx grpc-xds-cli graph`,
    );
    return exitCode.badInput;
  }
  const timeoutMs = flags.timeout * 1000;
  const read = await readSource(source.value, { target, needsListener: true, timeoutMs }, io);
  if (!read.ok) {
    printErrors(read.error.problems, io);
    return read.error.code;
  }
  const { value } = read;
  printResult(toResourceFile(value), { ...flags, output }, io, () => {
    for (const line of formatDump(value)) io.print(line);
  });
  const isFine = value.resources.every(({ status }) => status === '' || status === 'ACKED');
  return isFine ? exitCode.fine : exitCode.findings;
}

function chosenSource(text: string | undefined, flags: DumpFlags): Result<ResourceSource, string> {
  const named = sourceOf(undefined, flags);
  if (text === undefined ? named === undefined : hasSource(flags)) {
    const { diff: other } = flags;
    const what =
      other === undefined
        ? 'give one source'
        : `${describeDiff(other)}: give one source to compare with it`;
    return err(`${what}: a file, --admin, --page, --pid, --control-plane or --bootstrap`);
  }
  if (named !== undefined) return ok(named);
  return parseSource(text ?? '', flags.nodeId);
}

/** Without the token of a live page. */
function describeDiff(source: string): string {
  const [shown = ''] = source.startsWith('page:') ? source.split(/[?#]/, 1) : [source];
  return `--diff ${shown === '' ? '""' : shown}`;
}

function hasSource({ admin, page, pid, controlPlane, bootstrap }: OneSourceFlags): boolean {
  return [admin, page, pid, controlPlane, bootstrap].some((flag) => flag !== undefined);
}
