import { servePage } from '../../observe/live-page/page-server';
import { errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';
import {
  exitCode,
  formatTable,
  printErrors,
  printResult,
  untilInterrupted,
  type CliIo,
  type OutputFlags,
} from '../io';
import { listening } from '../listening';
import { callsOf } from '../processes/compare-processes';
import { parseProcesses, type ProcessSource } from '../processes/process-source';
import { compareWatched, ProcessesPage, type ProcessesState } from '../processes/processes-page';
import { WatchedProcess, type WatchOptions } from '../processes/watched-process';

/** Flags of `page`. */
export interface PageFlags extends OutputFlags {
  /** The port of 127.0.0.1. */
  readonly port: number;
  /** Seconds between two looks at a process. */
  readonly interval: number;
  /** Seconds for a response. */
  readonly timeout: number;
  /** Prints the comparison and ends. */
  readonly once?: boolean;
}

/**
 * Puts processes side by side, and finds the one that differs: on a live page until interrupted, or as a text.
 *
 * @returns the exit code: findings, if processes differ or one cannot be read; unreachable, if none can be read.
 */
export async function page(args: readonly string[], flags: PageFlags, io: CliIo): Promise<number> {
  const sources = parseProcesses(args);
  if (!sources.ok) {
    io.printError(`error: ${sources.error}`);
    return exitCode.badInput;
  }
  return flags.once === true
    ? printOnce(sources.value, flags, io)
    : serveProcesses(sources.value, flags, io);
}

async function serveProcesses(
  sources: readonly ProcessSource[],
  flags: PageFlags,
  io: CliIo,
): Promise<number> {
  const processes = watch(sources, flags, io, () => shown.onLook());
  const shown = new ProcessesPage(processes, io.clock);
  try {
    const serving = servePage({ port: flags.port }, () => shown, io.clock);
    const served = await listening(serving, '--port chooses another port');
    io.print(`Live page: ${served.url}`);
    await untilInterrupted(io);
    await served.close();
    return exitCode.fine;
  } catch (error) {
    io.printError(`error: ${errorMessage(error)}`);
    return exitCode.badInput;
  }
}

function watch(
  sources: readonly ProcessSource[],
  { interval, timeout }: PageFlags,
  io: CliIo,
  onLook: WatchOptions['onLook'],
): readonly WatchedProcess[] {
  const options = { intervalMs: interval * 1000, timeoutMs: timeout * 1000, onLook };
  return sources.map((source) => new WatchedProcess(source, options, io));
}

/** Looks twice, since rates are those between two looks. */
async function printOnce(
  sources: readonly ProcessSource[],
  flags: PageFlags,
  io: CliIo,
): Promise<number> {
  const processes = watch(sources, flags, io, () => {});
  const look = () => Promise.all(processes.map((process) => process.look()));
  await look();
  await pause(flags, io);
  await look();
  const state = compareWatched(processes);
  for (const { failure } of processes) printErrors(failure?.problems ?? [], io);
  printResult(describe(state), flags, io, () => {
    for (const line of formatState(state)) io.print(line);
  });
  const failures = processes.flatMap(({ failure }) => failure ?? []);
  if (failures.length === processes.length) return failures[0]?.code ?? exitCode.unreachable;
  const isAlike = state.comparison.differences.length === 0 && failures.length === 0;
  return isAlike ? exitCode.fine : exitCode.findings;
}

function pause({ interval }: PageFlags, { clock }: CliIo): Promise<Handle> {
  return new Promise((resolve) => {
    const timer: Handle = clock.setTimer(() => resolve(timer), interval * 1000, true);
  });
}

function describe({ verdict, comparison, subjects, entries }: ProcessesState): object {
  return {
    verdict,
    compared: comparison.compared,
    differences: comparison.differences.map(({ fact, usual, others }) => ({
      ...{ fact, usual },
      others: others.map(({ subject, text }) => ({ process: subjects[subject]?.name, text })),
    })),
    processes: entries.map(({ name, process, reading }) => ({
      process: name,
      ...(process.failure !== undefined && { failure: process.failure.problems.join('; ') }),
      ...(reading && {
        pid: reading.state.pid,
        targets: reading.state.targets.map(({ resources, ...target }) => ({
          ...{ ...target, resources: resources.size },
          ...ratesOf(callsOf(reading, target.target)),
        })),
      }),
    })),
  };
}

function ratesOf(calls: ReturnType<typeof callsOf>): object | undefined {
  return calls && { callsPerSecond: calls.callsPerSecond, failedPerSecond: calls.failedPerSecond };
}

const TITLES = ['process', 'target', 'state', 'resources', 'rejected', 'calls/s', 'errors/s'];

function formatState({ entries, comparison, subjects, verdict }: ProcessesState): string[] {
  const rows = entries.flatMap(({ name, process, reading }) => {
    if (process.failure !== undefined) return [[name, '-', 'cannot be read', '-', '-', '-', '-']];
    const targets = reading?.state.targets ?? [];
    return targets.map(({ target, state, resources, rejected }) => {
      const calls = reading && callsOf(reading, target);
      const rates = [calls?.callsPerSecond, calls?.failedPerSecond];
      return [
        ...[name, target, state, `${resources.size}`, `${rejected}`],
        ...rates.map((rate) => rate?.toFixed(1) ?? '-'),
      ];
    });
  });
  const differences = comparison.differences.flatMap(({ fact, usual, others }) =>
    others.map(({ subject, text }) => [
      ...[fact, subjects[subject]?.name ?? '', text, usual ?? 'no majority'],
    ]),
  );
  return [
    ...(rows.length === 0 ? [] : [...formatTable(TITLES, rows), '']),
    ...(differences.length === 0
      ? []
      : [...formatTable(['differs in', 'process', 'value', 'others'], differences), '']),
    verdict,
  ];
}
