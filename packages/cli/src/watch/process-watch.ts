import type { Result } from '../../../../src/util/result';
import { cutText } from '../../../../src/util/text';
import {
  failed,
  fetchPageReport,
  requestReport,
  type ProcessReport,
  type SourceFailure,
} from '../dump/process-report';
import {
  createPaint,
  exitCode,
  formatOf,
  formatTable,
  printErrors,
  printResult,
  type CliIo,
  type Line,
  type OutputFlags,
  type Paint,
} from '../io';
import type { ResourceSource } from '../dump/read-source';
import { fetchAdminReport } from './admin-report';
import { Looks } from './looks';
import { ratesOf, readSample, type ProcessSample } from './process-sample';
import type { ProcessRow } from './process-row';

/** Seconds between two looks. */
const INTERVAL_S = 2;
/** Seconds for a response. */
const TIMEOUT_S = 16;

/** A process that runs. */
export type ProcessSource = Exclude<ResourceSource, { readonly kind: 'file' | 'ads' }>;

/** Flags of `watch` for a process. */
export interface ProcessFlags extends OutputFlags {
  readonly target?: string;
  /** Seconds between two looks. */
  readonly interval?: number;
  /** Seconds for a response. */
  readonly timeout?: number;
  /** Ends after one table. */
  readonly once?: boolean;
}

/** What is watched of a process, and how. */
interface WatchedProcess {
  readonly source: ProcessSource;
  readonly flags: ProcessFlags;
  readonly io: CliIo;
}

/**
 * Shows the calls of a process by target, cluster and locality, and those of its servers: on a terminal as a screen until `q` is pressed, otherwise once.
 *
 * @returns the exit code: findings, if there is nothing to show; unreachable, if the process cannot be reached.
 */
export async function watchProcess(
  source: ProcessSource,
  flags: ProcessFlags,
  io: CliIo,
): Promise<number> {
  const isScreen = io.isTerminal && flags.once !== true && formatOf(flags) === 'table';
  const watched = { source, flags, io };
  return isScreen ? new ProcessScreen(watched).run() : printOnce(watched);
}

/** Reads the calls of the process. */
async function takeSample(watched: WatchedProcess): Promise<Result<ProcessSample, SourceFailure>> {
  const { flags } = watched;
  const read = await readReport(watched);
  if (!read.ok) return read;
  const { source, text } = read.value;
  const sample = readSample(text, flags.target);
  if (sample === undefined) {
    return failed(`${source}: the report is of another version of grpc-xds`);
  }
  if (sample.rows.length > 0) return { ok: true, value: sample };
  const problem =
    flags.target === undefined
      ? `${source}: it has no channel with an xds: target and no xDS server yet`
      : `${flags.target}: not a target of ${source}; without --target it shows all it has`;
  return failed(problem, exitCode.findings);
}

function readReport({
  source,
  flags: { target, timeout = TIMEOUT_S },
  io,
}: WatchedProcess): Promise<Result<ProcessReport, SourceFailure>> {
  const timeoutMs = timeout * 1000;
  switch (source.kind) {
    case 'admin':
      return fetchAdminReport(source.address, timeoutMs, io);
    case 'page':
      return fetchPageReport(source.url, { target, timeoutMs }, io);
    case 'process':
      return requestReport(source.pid, timeoutMs, io);
  }
}

/** Prints the rates between two samples. */
async function printOnce(watched: WatchedProcess): Promise<number> {
  const { flags, io } = watched;
  const before = await takeSample(watched);
  if (!before.ok) return fail(before.error, io);
  const looks = looksAt(watched);
  const isNext = await looks.next();
  looks.end();
  if (!isNext) return exitCode.fine;
  const sample = await takeSample(watched);
  if (!sample.ok) return fail(sample.error, io);
  const { rows, pid, atMs } = sample.value;
  const described = rows.map((row) => describeRow(row, sample.value, before.value));
  const result = { pid, time: new Date(atMs).toISOString(), rows: described };
  printResult(result, flags, io, () => {
    for (const line of formatRows(sample.value, before.value)) io.print(line);
  });
  return exitCode.fine;
}

function looksAt({ flags: { interval = INTERVAL_S }, io }: WatchedProcess): Looks {
  return new Looks(interval * 1000, io);
}

function describeRow(row: ProcessRow, sample: ProcessSample, before: ProcessSample): object {
  return { ...row, ended: undefined, ...ratesOf(row, sample, before) };
}

function fail({ problems, code }: SourceFailure, io: CliIo): number {
  printErrors(problems, io);
  return code;
}

const TITLES = ['', 'calls/s', 'errors/s', 'latency', 'in flight', 'ready', 'state'];

/** Characters of a name that are shown also where the numbers do not fit beside it. */
const MIN_NAME_WIDTH = 12;

/**
 * Formats a row for each target, below it its clusters, and below these their localities; then one for each address of a server,
 * and below it its parts.
 * @param columns The width of the screen: names are cut so that the numbers fit beside them. Default: any.
 */
function formatRows(
  sample: ProcessSample,
  before: ProcessSample | undefined,
  columns = Infinity,
): readonly string[] {
  const rows = cellsOf(sample, before);
  const numbers = formatTable(
    TITLES,
    rows.map(([, ...others]) => ['', ...others]),
  );
  const used = numbers.reduce((width, line) => Math.max(width, line.length), 0);
  const room = Math.max(columns - used, MIN_NAME_WIDTH);
  const cut = rows.map(([name = '', ...others]) => [
    cutText(name, name.length > room ? room - 1 : room),
    ...others,
  ]);
  return formatTable(TITLES, cut);
}

function cellsOf(
  sample: ProcessSample,
  before: ProcessSample | undefined,
): readonly (readonly string[])[] {
  return sample.rows.map((row) => {
    const rates = ratesOf(row, sample, before);
    const name = row.locality || row.cluster || row.part || row.server || row.target;
    const indent = row.locality !== '' ? '    ' : row.cluster || row.part ? '  ' : '';
    return [
      `${indent}${name}`,
      rates === undefined ? '-' : rates.callsPerSecond.toFixed(1),
      rates === undefined ? '-' : rates.failedPerSecond.toFixed(1),
      row.latencyMs === undefined ? '-' : `${row.latencyMs.toFixed(1)} ms`,
      `${row.inFlight}`,
      `${row.ready}/${row.endpoints}`,
      row.state,
    ];
  });
}

/** The live screen. */
class ProcessScreen {
  private readonly paint: Paint;
  private before: ProcessSample | undefined;
  private sample: ProcessSample | undefined;
  /** Why there is no newer sample. */
  private failure: SourceFailure | undefined;

  constructor(private readonly watched: WatchedProcess) {
    this.paint = createPaint(watched.io, watched.flags);
  }

  async run(): Promise<number> {
    const { io } = this.watched;
    const first = await takeSample(this.watched);
    if (!first.ok) return fail(first.error, io);
    this.sample = first.value;
    const looks = looksAt(this.watched);
    const screen = io.openScreen({
      onKey: (key) => {
        if (key === 'q' || key === 'Q') looks.end();
      },
      onResize: () => this.draw(),
    });
    try {
      this.draw();
      while (await looks.next()) {
        await this.look();
        this.draw();
      }
    } finally {
      looks.end();
      screen.release();
    }
    return this.failure === undefined ? exitCode.fine : fail(this.failure, io);
  }

  private async look(): Promise<void> {
    const taken = await takeSample(this.watched);
    this.failure = taken.ok ? undefined : taken.error;
    if (!taken.ok) return;
    this.before = this.sample;
    this.sample = taken.value;
  }

  private draw(): void {
    const { sample, watched } = this;
    const { source, io } = watched;
    if (sample === undefined) return;
    const { columns = 80, rows = 24 } = io.size ?? {};
    const process = sample.pid ?? (source.kind === 'admin' ? source.address : '');
    const title = `process ${process}  ${new Date(sample.atMs).toISOString().slice(11, 19)}Z  q: quit`;
    const [titles = '', ...table] = formatRows(sample, this.before, columns);
    const cut = (text: string) => text.slice(0, columns);
    // The last line is left free, so that the screen does not scroll.
    const room = Math.max(0, rows - (this.failure === undefined ? 4 : 5));
    const more = table.length > room ? [`and ${table.length - room} more`] : [];
    const lines: Line[] = [
      [this.paint('bold', cut(title))],
      [this.paint('gray', cut(titles))],
      ...table.slice(0, room).map(cut),
      ...more,
    ];
    const [problem] = this.failure?.problems ?? [];
    if (problem !== undefined) lines.push([this.paint('red', cut(problem))]);
    io.redraw(lines);
  }
}
