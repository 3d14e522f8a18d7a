import type { Handle } from '../../util/handle';
import type { Result } from '../../util/result';
import { cutText } from '../../util/text';
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
  untilInterrupted,
  type CliIo,
  type Line,
  type OutputFlags,
  type Paint,
} from '../io';
import { fetchAdminReport } from '../top/admin-report';
import { ratesOf, readSample, type TopSample } from '../top/sample';
import type { TopRow } from '../top/top-row';

/** Flags of `top`. */
export interface TopFlags extends OutputFlags {
  /** The address of the admin services of a process. */
  readonly admin?: string;
  /** The URL of a live page. */
  readonly page?: string;
  /** The id of a process that writes its state on a signal. */
  readonly pid?: number;
  readonly target?: string;
  /** Seconds between two looks. */
  readonly interval: number;
  /** Seconds for a response. */
  readonly timeout: number;
  /** Ends after one table. */
  readonly once?: boolean;
}

/**
 * Shows the calls of a process by target, cluster and locality, and those of its servers: on a terminal as a screen until `q` is pressed, otherwise once.
 *
 * @returns the exit code: findings, if there is nothing to show; unreachable, if the process cannot be reached.
 */
export async function top(flags: TopFlags, io: CliIo): Promise<number> {
  const sources = [flags.admin, flags.page, flags.pid].filter((each) => each !== undefined);
  if (sources.length !== 1) {
    io.printError('error: give one process: --pid, --page or --admin');
    return exitCode.badInput;
  }
  const isScreen = io.isTerminal && flags.once !== true && formatOf(flags) === 'table';
  return isScreen ? new TopScreen(flags, io).run() : printOnce(flags, io);
}

/** Reads the calls of the process. */
async function takeSample(flags: TopFlags, io: CliIo): Promise<Result<TopSample, SourceFailure>> {
  const read = await readReport(flags, io);
  if (!read.ok) return read;
  const { source, text } = read.value;
  const sample = readSample(text, flags.target);
  if (sample === undefined) {
    return failed(`${source}: the report is of another version of grpc-xds`);
  }
  if (sample.rows.length > 0) return { ok: true, value: sample };
  const problem =
    flags.target === undefined
      ? `${source}: no channel of it has an xds: target yet, and it has no xDS server`
      : `${flags.target}: not a target of ${source}; without --target it shows all it has`;
  return failed(problem, exitCode.findings);
}

function readReport(
  { admin, page, pid, target, timeout }: TopFlags,
  io: CliIo,
): Promise<Result<ProcessReport, SourceFailure>> {
  const timeoutMs = timeout * 1000;
  if (admin !== undefined) return fetchAdminReport(admin, timeoutMs, io);
  return page === undefined
    ? requestReport(pid ?? 0, timeoutMs, io)
    : fetchPageReport(page, { target, timeoutMs }, io);
}

/** Prints the rates between two samples. */
async function printOnce(flags: TopFlags, io: CliIo): Promise<number> {
  const before = await takeSample(flags, io);
  if (!before.ok) return fail(before.error, io);
  const { over, end } = untilOver(io);
  const isOver = await pause(flags, over, io);
  end();
  if (isOver) return exitCode.fine;
  const sample = await takeSample(flags, io);
  if (!sample.ok) return fail(sample.error, io);
  const { rows, pid, atMs, relays } = sample.value;
  const described = rows.map((row) => describeRow(row, sample.value, before.value));
  const result = { pid, time: new Date(atMs).toISOString(), rows: described, relays };
  printResult(result, flags, io, () => {
    for (const line of formatRows(sample.value, before.value)) io.print(line);
    for (const relay of relays) io.print(`by ${relay}`);
  });
  return exitCode.fine;
}

function describeRow(row: TopRow, sample: TopSample, before: TopSample): object {
  return { ...row, ended: undefined, ...ratesOf(row, sample, before) };
}

function fail({ problems, code }: SourceFailure, io: CliIo): number {
  printErrors(problems, io);
  return code;
}

/** What a command waits for: an interrupt, or its own end. */
function untilOver(io: CliIo): { readonly over: Promise<unknown>; readonly end: () => void } {
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { over: untilInterrupted(io, ended), end };
}

/** Waits for the time between two looks. @returns whether the command was over meanwhile. */
async function pause({ interval }: TopFlags, over: Promise<unknown>, io: CliIo): Promise<boolean> {
  const state: { timer?: Handle } = {};
  const passed = new Promise<boolean>((resolve) => {
    state.timer = io.clock.setTimer(() => resolve(false), interval * 1000, true);
  });
  const isOver = await Promise.race([passed, over.then(() => true)]);
  state.timer?.release();
  return isOver;
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
  sample: TopSample,
  before: TopSample | undefined,
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

function cellsOf(sample: TopSample, before: TopSample | undefined): readonly (readonly string[])[] {
  return sample.rows.map((row) => {
    const rates = ratesOf(row, sample, before);
    const name = row.locality || row.cluster || row.part || row.server || row.target;
    const indent = row.locality !== '' ? '    ' : row.cluster || row.part ? '  ' : '';
    return [
      `${indent}${name}`,
      rates === undefined ? '-' : rates.callsPerSecond.toFixed(1),
      rates === undefined ? '-' : rates.failedPerSecond.toFixed(1),
      row.latencyMs === undefined ? '-' : `${row.latencyMs.toFixed(1)} ms`,
      ...[`${row.inFlight}`, `${row.ready}/${row.endpoints}`, row.state],
    ];
  });
}

/** The live screen. */
class TopScreen {
  private readonly paint: Paint;
  private before: TopSample | undefined;
  private sample: TopSample | undefined;
  /** Why there is no newer sample. */
  private failure: SourceFailure | undefined;

  constructor(
    private readonly flags: TopFlags,
    private readonly io: CliIo,
  ) {
    this.paint = createPaint(io, flags);
  }

  async run(): Promise<number> {
    const { flags, io } = this;
    const first = await takeSample(flags, io);
    if (!first.ok) return fail(first.error, io);
    this.sample = first.value;
    const { over, end } = untilOver(io);
    const screen = io.openScreen({
      onKey: (key) => {
        if (key === 'q' || key === 'Q') end();
      },
      onResize: () => this.draw(),
    });
    try {
      this.draw();
      while (!(await pause(flags, over, io))) {
        await this.look();
        this.draw();
      }
    } finally {
      end();
      screen.release();
    }
    return this.failure === undefined ? exitCode.fine : fail(this.failure, io);
  }

  private async look(): Promise<void> {
    const taken = await takeSample(this.flags, this.io);
    this.failure = taken.ok ? undefined : taken.error;
    if (!taken.ok) return;
    this.before = this.sample;
    this.sample = taken.value;
  }

  private draw(): void {
    const { io, sample } = this;
    if (sample === undefined) return;
    const { columns = 80, rows = 24 } = io.size ?? {};
    const process = sample.pid ?? this.flags.admin ?? '';
    const relays = sample.relays.map((relay) => `  by ${relay}`).join('');
    const title = `process ${process}${relays}  ${new Date(sample.atMs).toISOString().slice(11, 19)}Z  q: quit`;
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
