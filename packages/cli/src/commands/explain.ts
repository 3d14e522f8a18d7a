import { failureText } from '../failure-text';
import type { CallExplanation } from '../client';
import type { CallHeader } from '../arguments';
import { hasValue } from '../dump/dump';
import { readSource, sourceOf, type OneSourceFlags } from '../dump/read-source';
import {
  printResult,
  exitCode,
  printErrors,
  loadClient,
  type CliIo,
  type OutputFlags,
} from '../io';

/** Flags of `explain`. */
export interface ExplainFlags extends Omit<OneSourceFlags, 'target'>, OutputFlags, RequestFlags {
  readonly header: readonly CallHeader[];
  /** A resource file. */
  readonly file?: string;
}

/** Flags that describe a request to a server. */
interface RequestFlags {
  /** The method; a call of a client is explained without it. */
  readonly path?: string;
  readonly from?: string;
  readonly address?: string;
  readonly remote?: string;
  readonly authority?: string;
}

/**
 * Explains the routing of a call, or the judgement of a request by a server, by the resources of a source, without a connection to any
 * endpoint.
 *
 * @returns the exit code: findings, if the call, or a share of such calls, has no route or fails.
 */
export async function explain(
  target: string | undefined,
  method: string | undefined,
  flags: ExplainFlags,
  io: CliIo,
): Promise<number> {
  const problem = findUsageProblem(target, method, flags);
  if (problem !== undefined) {
    printErrors([`error: ${problem}`, 'Add --help to see what is possible.'], io);
    return exitCode.badInput;
  }
  const { path } = flags;
  return path === undefined
    ? explainClientCall(target ?? '', toPath(method ?? ''), flags, io)
    : explainServerRequest(target ?? flags.file, toPath(path), flags, io);
}

/** Returns why the arguments do not belong together; `undefined` if they do. */
function findUsageProblem(
  target: string | undefined,
  method: string | undefined,
  { path, from, address, remote, authority, file }: ExplainFlags,
): string | undefined {
  if (path !== undefined) {
    if (method !== undefined) return 'a request to a server has its method in --path alone';
    return target !== undefined && file !== undefined ? 'give one resource file' : undefined;
  }
  if ([from, address, remote, authority].some((each) => each !== undefined)) {
    return '--from, --address, --remote and --authority are for requests to servers: give --path as well';
  }
  if (target === undefined) return "missing required argument 'target'";
  return method === undefined ? "missing required argument 'method'" : undefined;
}

function toPath(method: string): string {
  return method.startsWith('/') ? method : `/${method}`;
}

const NO_SOURCE = 'give one source: --file, --admin, --page, --pid, --control-plane or --bootstrap';

/** Explains a request to a server. */
async function explainServerRequest(
  file: string | undefined,
  path: string,
  flags: ExplainFlags,
  io: CliIo,
): Promise<number> {
  const { from, address, remote, authority, header, timeout } = flags;
  const source = sourceOf(file, flags);
  if (source === undefined) {
    io.printError(NO_SOURCE);
    return exitCode.badInput;
  }
  const read = await readSource(
    source,
    { target: undefined, server: address, timeoutMs: timeout * 1000 },
    io,
  );
  if (!read.ok) {
    printErrors(read.error.problems, io);
    return read.error.code;
  }
  const resources = read.value.resources.filter(hasValue);
  const own = authority === undefined ? [] : ([[':authority', authority]] as const);
  const request = { path, from, address, remote, headers: [...header, ...own] };
  const { explanation, text } = loadClient().explainServer(resources, request, io);
  printResult(explanation, flags, io, () => io.printDocument(text));
  return explanation.outcome === 'allowed' ? exitCode.fine : exitCode.findings;
}

/** Explains a call of a client. */
async function explainClientCall(
  target: string,
  path: string,
  flags: ExplainFlags,
  io: CliIo,
): Promise<number> {
  const source = sourceOf(flags.file, flags);
  if (source === undefined) {
    io.printError(NO_SOURCE);
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
    io.printError(failureText(error));
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
