import { describeComparison, type Comparison, type Subject } from '../../util/compare-subjects';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { differenceView, ownDifferences } from '../../observe/live-page/comparison-view';
import { PageLog } from '../../observe/live-page/page-log';
import {
  cellText,
  createView,
  matchesFilter,
  NO_ROWS,
  rowId,
  type PageSource,
  type PageState,
  type Row,
  type View,
  type ViewRequest,
} from '../../observe/live-page/view';
import { callsOf, compareProcesses, type ProcessReading } from './compare-processes';
import type { TargetState } from './process-state';
import type { WatchedProcess } from './watched-process';

/** Processes are read until this long after a reader has requested their state last. */
const IDLE_MS = 5000;
/** The nodes of a process in a row. */
const MAX_NODES = 8;

/** A line of the overview: a process, a client of a relay, or a source that has neither now. */
interface Entry {
  readonly id: string;
  readonly name: string;
  readonly process: WatchedProcess;
  /** The index in the comparison; `undefined` for one that is not compared. */
  readonly subject: number | undefined;
  readonly reading: ProcessReading | undefined;
  /** The source of the same process that comes before this one. */
  readonly sameAs?: string | undefined;
}

/** All processes at one moment. */
export interface ProcessesState {
  readonly entries: readonly Entry[];
  readonly subjects: readonly Subject[];
  readonly comparison: Comparison;
  /** The comparison in one line, with what could not be read. */
  readonly verdict: string;
}

/** Compares what could be read of processes. Those that are gone are in no comparison. */
export function compareWatched(processes: readonly WatchedProcess[]): ProcessesState {
  const readings: ProcessReading[] = [];
  const repeated = findRepeated(processes);
  const entries = processes.flatMap((process): readonly Entry[] => {
    const { source } = process;
    const sameAs = repeated.get(process);
    if (sameAs !== undefined) {
      const { name } = source;
      const none = { subject: undefined, reading: undefined };
      return [{ id: rowId(name), name, process, sameAs, ...none }];
    }
    if (process.isUnread || process.readings.length === 0) {
      const { name } = source;
      return [{ id: rowId(name), name, process, subject: undefined, reading: process.readings[0] }];
    }
    return process.readings.map((reading) => {
      const subject = readings.push(reading) - 1;
      const { name } = reading.state;
      return { id: rowId(source.name, name), name, process, subject, reading };
    });
  });
  const { subjects, comparison } = compareProcesses(readings);
  const unread = processes.filter(({ isUnread }) => isUnread);
  const gone = unread.map((process) => `; ${process.source.name} ${stateOfUnread(process)}`);
  const same = entries.map(({ name, sameAs }) => (sameAs ? `; ${describeSame(name, sameAs)}` : ''));
  const text = describeComparison(comparison, subjects, 'processes');
  return { entries, subjects, comparison, verdict: [text, ...gone, ...same].join('') };
}

/** Finds the sources of a process that another one before them reads, and returns the name of that one. */
function findRepeated(processes: readonly WatchedProcess[]): ReadonlyMap<WatchedProcess, string> {
  const first = new Map<string, string>();
  const repeated = new Map<WatchedProcess, string>();
  for (const process of processes) {
    const { identity, source, isUnread } = process;
    if (identity === undefined || isUnread) continue;
    const known = first.get(identity);
    if (known === undefined) first.set(identity, source.name);
    else repeated.set(process, known);
  }
  return repeated;
}

function describeSame(name: string, other: string): string {
  return `${name} is the same process as ${other} and is left out`;
}

function stateOfUnread({ readAtMs, isSilent }: WatchedProcess): string {
  if (isSilent) return 'gives no answer';
  return readAtMs === undefined ? 'cannot be read' : 'is gone';
}

/** What the live page shows of several processes, side by side. They are read while a reader is connected. */
export class ProcessesPage implements PageSource {
  readonly about;
  private readonly lines: PageLog;
  private state: ProcessesState | undefined;
  private logged = '';
  private idle: Handle | undefined;

  constructor(
    private readonly processes: readonly WatchedProcess[],
    private readonly clock: Clock,
  ) {
    this.about = { kind: 'processes', title: `grpc-xds, ${processes.length} processes` } as const;
    this.lines = new PageLog(clock);
  }

  /** Forgets the comparison after a process was read. */
  onLook(): void {
    this.state = undefined;
  }

  capture(): PageState {
    this.idle?.release();
    this.idle = this.clock.setTimer(() => this.stop(), IDLE_MS);
    for (const process of this.processes) process.start();
    const state = (this.state ??= compareWatched(this.processes));
    this.logVerdict(state);
    return { view: (request) => viewOf(state, this.lines, request) };
  }

  /** There is nothing besides the views. */
  answer(): undefined {
    return undefined;
  }

  release(): void {
    this.idle?.release();
    this.stop();
  }

  private stop(): void {
    for (const process of this.processes) process.stop();
  }

  private logVerdict({ verdict, comparison }: ProcessesState): void {
    if (verdict === this.logged || comparison.compared === 0) return;
    this.logged = verdict;
    this.lines.add(comparison.differences.length === 0 ? 'alike' : 'differs', verdict);
  }
}

function viewOf(state: ProcessesState, lines: PageLog, request: ViewRequest): View {
  const { entries, comparison, subjects } = state;
  const matches = (...texts: readonly string[]) => matchesFilter(request.filter, ...texts);
  switch (request.name) {
    case 'processes':
      return createView(entries, request, (entry) => entryRow(entry, state));
    case 'differences':
      return differenceView(comparison, subjects, request);
    case 'sides': {
      const sides = sidesOf(entries).filter(({ entry, target }) =>
        matches(entry.name, target.target, target.state, target.inUse),
      );
      return createView(sides, request, (side) => sideRow(side, comparison));
    }
    case 'facts': {
      const chosen = entries.find(({ id }) => id === request.target);
      const facts = chosen?.subject === undefined ? undefined : subjects[chosen.subject]?.facts;
      const found = [...(facts ?? [])].filter(([name, { text }]) => matches(name, text));
      return createView(found, request, ([name, { text }]) => ({
        ...{ id: rowId(name), fact: cellText(name), value: cellText(text) },
        ...factMark(comparison, name, chosen?.subject),
      }));
    }
    case 'events':
      return lines.view(request);
    default:
      return NO_ROWS;
  }
}

function entryRow(
  { id, name, process, subject, reading, sameAs }: Entry,
  state: ProcessesState,
): Row {
  const own = ownDifferences(state.comparison, subject);
  const [problem = 'no answer to the look under way'] = process.failure?.problems ?? [];
  const { pid, targets = [] } = reading?.state ?? {};
  const readState = own.count > 0 ? 'differs' : 'alike';
  const { isUnread } = process;
  const isPending = subject === undefined && !isUnread;
  const pendingState = sameAs === undefined ? 'waiting' : 'repeated';
  return {
    ...{ id, process: cellText(name) },
    state: isUnread ? unreadState(process) : isPending ? pendingState : readState,
    differing: own.count,
    ...(pid !== undefined && { pid }),
    ...(isUnread && { reason: cellText(problem) }),
    ...(sameAs !== undefined && { reason: cellText(describeSame(name, sameAs)) }),
    differs: own.texts,
    targets: targets.length,
    nodes: [...new Set(targets.map(({ nodeId }) => cellText(nodeId)))].slice(0, MAX_NODES),
    ...(process.readAtMs !== undefined && { readAt: new Date(process.readAtMs).toISOString() }),
    verdict: cellText(state.verdict),
  };
}

function unreadState({ readAtMs, isSilent }: WatchedProcess): string {
  if (isSilent) return 'no answer';
  return readAtMs === undefined ? 'failed' : 'gone';
}

/** A target of a process. */
interface Side {
  readonly entry: Entry;
  readonly target: TargetState;
}

/** Returns the targets of all processes, those of one target one below the other. */
function sidesOf(entries: readonly Entry[]): readonly Side[] {
  const sides = entries.flatMap((entry) =>
    (entry.reading?.state.targets ?? []).map((target): Side => ({ entry, target })),
  );
  const order = [...new Set(sides.map(({ target }) => target.target))];
  return order.flatMap((name) => sides.filter(({ target }) => target.target === name));
}

function sideRow({ entry, target }: Side, comparison: Comparison): Row {
  const { id, name, subject, reading, process } = entry;
  const calls = reading && callsOf(reading, target.target);
  const { isUnread } = process;
  return {
    ...{ id: rowId(target.target, id), target: cellText(target.target), process: cellText(name) },
    state: isUnread ? unreadState(process) : target.state,
    reason: cellText(target.reason),
    ...{ nodeId: cellText(target.nodeId), inUse: cellText(target.inUse) },
    servers: target.servers.map(cellText),
    ...{ resources: target.resources.size, rejected: target.rejected },
    ...(target.updatedAt !== '' && { updatedAt: target.updatedAt }),
    ...(calls !== undefined && {
      calls: calls.callsPerSecond.toFixed(1),
      errors: calls.failedPerSecond.toFixed(1),
      connections: `${calls.row.ready}/${calls.row.endpoints}`,
    }),
    ...(calls?.row.latencyMs !== undefined && { latency: `${calls.row.latencyMs.toFixed(1)} ms` }),
    differs: ownDifferences(comparison, subject).texts,
  };
}

/** Says in words that a value is another one than that of the others. */
function factMark(
  { differences }: Comparison,
  fact: string,
  subject: number | undefined,
): { readonly mark?: string } {
  const difference = differences.find((each) => each.fact === fact);
  if (difference === undefined) return {};
  const isOther = difference.others.some((each) => each.subject === subject);
  if (!isOther) return { mark: 'as most' };
  const { usual } = difference;
  return { mark: cellText(usual === undefined ? 'no majority' : `differs: others ${usual}`) };
}
