import { errorMessage } from '../../util/errors';
import type { CallExplanation } from '../client';
import type { CallHeader } from '../arguments';
import { hasValue } from '../dump/dump';
import { readSource } from '../dump/read-source';
import { printResult, exitCode, printErrors, loadClient, type CliIo } from '../io';
import { sourceOf, type DumpFlags } from './dump';

/** Flags of `explain`. */
export interface ExplainFlags extends Omit<DumpFlags, 'target'> {
  readonly header: readonly CallHeader[];
  /** A resource file. */
  readonly file?: string;
}

/**
 * Explains the routing of a call by the resources of a source, without a connection to any endpoint.
 *
 * @returns the exit code: findings, if the call, or a share of such calls, has no route or fails.
 */
export async function explain(
  target: string,
  method: string,
  flags: ExplainFlags,
  io: CliIo,
): Promise<number> {
  const source = sourceOf(flags.file, flags);
  if (source === undefined) {
    io.printError(
      'give one source: --file, --admin, --page, --pid, --control-plane or --bootstrap',
    );
    return exitCode.badInput;
  }
  const parsed = loadClient().parseTarget(target);
  if (!parsed.ok) {
    io.printError(parsed.error);
    return exitCode.badInput;
  }
  const read = await readSource(source, { target, timeoutMs: flags.timeout * 1000 }, io);
  if (!read.ok) {
    printErrors(read.error.problems, io);
    return read.error.code;
  }
  const headers = flags.header;
  const path = method.startsWith('/') ? method : `/${method}`;
  const resources = read.value.resources.filter(hasValue);
  try {
    const call = { target, method: path, headers };
    const { explanation, text, problems } = loadClient().explain(resources, call, io);
    printResult({ ...explanation, problems }, flags, io, () => {
      io.printDocument(text);
      for (const problem of problems) io.print(`these calls fail: ${problem}`);
    });
    return problems.length === 0 && isRouted(explanation) ? exitCode.fine : exitCode.findings;
  } catch (error) {
    // A header that grpc-js does not accept.
    io.printError(errorMessage(error));
    return exitCode.badInput;
  }
}

/** Whether all such calls have a route that forwards them. */
function isRouted(explanation: CallExplanation): boolean {
  return (
    explanation.kind === 'routed' &&
    explanation.unmatchedShare === 0 &&
    explanation.decisions.every(({ outcome }) => outcome.kind === 'forward')
  );
}
