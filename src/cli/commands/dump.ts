import { formatDump, toResourceFile } from '../dump/dump';
import { originOf, readSource, type ResourceSource, type ServerFlags } from '../dump/read-source';
import { printResult, exitCode, printErrors, type OutputFlags, type CliIo } from '../io';

/** Flags of every command that reads resources from elsewhere. */
export interface SourceFlags {
  readonly target?: string;
  readonly nodeId: string;
  /** Seconds. */
  readonly timeout: number;
}

/** Flags of `dump`. */
export interface DumpFlags extends SourceFlags, ServerFlags, OutputFlags {
  /** The address of the admin services of a process. */
  readonly admin?: string;
  /** The URL of a live page. */
  readonly page?: string;
  /** The id of a process that writes its state on a signal. */
  readonly pid?: number;
}

/**
 * Prints the resources of a process, a control plane or a file, with their states.
 *
 * @returns the exit code: findings, if a resource is rejected or missing.
 */
export async function dump(file: string | undefined, flags: DumpFlags, io: CliIo): Promise<number> {
  const source = sourceOf(file, flags);
  if (source === undefined) {
    io.printError(
      'give one source: a file, --admin, --page, --pid, --control-plane or --bootstrap',
    );
    return exitCode.badInput;
  }
  const { target, timeout } = flags;
  const read = await readSource(
    source,
    { target, needsListener: true, timeoutMs: timeout * 1000 },
    io,
  );
  if (!read.ok) {
    printErrors(read.error.problems, io);
    return read.error.code;
  }
  const { value } = read;
  printResult(toResourceFile(value), flags, io, () => {
    for (const line of formatDump(value)) io.print(line);
  });
  const isFine = value.resources.every(({ status }) => status === '' || status === 'ACKED');
  return isFine ? exitCode.fine : exitCode.findings;
}

/** Returns the source that the flags name; `undefined` unless there is exactly one. */
export function sourceOf(
  file: string | undefined,
  flags: Omit<DumpFlags, 'target'>,
): ResourceSource | undefined {
  const { admin, page, pid, controlPlane, bootstrap } = flags;
  const sources: ResourceSource[] = [];
  // The socket of a relay.
  if (file?.startsWith('unix:') === true) sources.push({ kind: 'admin', address: file });
  else if (file !== undefined) sources.push({ kind: 'file', path: file });
  if (admin !== undefined) sources.push({ kind: 'admin', address: admin });
  if (page !== undefined) sources.push({ kind: 'page', url: page });
  if (pid !== undefined) sources.push({ kind: 'process', pid });
  if (typeof controlPlane === 'string' && bootstrap !== undefined) return undefined;
  if (controlPlane !== undefined || bootstrap !== undefined) {
    sources.push({ kind: 'ads', bootstrap: originOf(flags) });
  }
  return sources.length === 1 ? sources[0] : undefined;
}
