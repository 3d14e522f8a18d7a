import type { Handle } from '../../util/handle';
import { errorMessage } from '../../util/errors';
import type { Result } from '../../util/result';
import { failed, type SourceFailure } from '../dump/process-report';
import { exitCode, type CliIo } from '../io';
import { explainNoReport, parseReport, sampleOf, type TopSample } from '../top/sample';
import type { ProcessReading } from './compare-processes';
import { readProcess, type ProcessSource } from './process-source';
import { readProcessStates } from './process-state';
import { afterRunning } from '../../util/running-time';

/** The time between two looks is this many times that of a look: at most 5 % of the CPU of the process … */
const REST_FACTOR = 19;
/** … but not longer than this … */
const MAX_REST_MS = 4000;
/** … unless looks would take more than a fifth of the CPU. */
const MIN_REST_FACTOR = 4;

/** A process that has not answered a look for this long is in no comparison until it does. */
const SILENT_MS = 3000;

/** How a process is read. */
export interface WatchOptions {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Called after each look, and when one has no answer in time. */
  readonly onLook: () => void;
}

/** A process, or a relay with its clients, that is read from time to time. */
export class WatchedProcess {
  /** What it said when it could be read last: a relay has one for each client. */
  readings: readonly ProcessReading[] = [];
  /** Why it could not be read the last time. */
  failure: SourceFailure | undefined;
  /** When it was read last, in milliseconds since the epoch; `undefined` if it never was. */
  readAtMs: number | undefined;
  /** Whether it has not answered the look under way, or the last one, in time. */
  isSilent = false;
  private sample: TopSample | undefined;
  private timer: Handle | undefined;
  private lastCostMs = 0;
  private isWatched = false;
  private isReading = false;

  constructor(
    readonly source: ProcessSource,
    private readonly options: WatchOptions,
    private readonly io: CliIo,
  ) {}

  /** Reads it now, and again and again until `stop` is called. */
  start(): void {
    if (this.isWatched) return;
    this.isWatched = true;
    if (!this.isReading) void this.lookOn();
  }

  stop(): void {
    this.isWatched = false;
    this.timer?.release();
  }

  /** Whether what it said last is not its state now. */
  get isUnread(): boolean {
    return this.failure !== undefined || this.isSilent;
  }

  /** The same for each source of one process that runs; files may have it as it was at different times. */
  get identity(): string | undefined {
    return this.source.from.kind === 'file' ? undefined : this.readings[0]?.state.identity;
  }

  /** Reads it once. */
  async look(): Promise<void> {
    const { source, io, options } = this;
    const startMs = io.clock.monotonicMs();
    const onSilent = () => {
      this.isSilent = true;
      options.onLook();
    };
    const silence = afterRunning(io.clock, onSilent, SILENT_MS);
    const read = await readReading(source, { timeoutMs: options.timeoutMs, io });
    silence.release();
    this.isSilent = !read.ok && io.clock.monotonicMs() - startMs >= SILENT_MS;
    if (!read.ok) {
      this.failure = read.error;
      // Rates are those between two looks one after the other.
      this.sample = undefined;
      this.readings = this.readings.map((reading) => ({ ...reading, before: undefined }));
      return;
    }
    const { states, sample } = read.value;
    const { sample: before } = this;
    this.failure = undefined;
    this.readAtMs = io.clock.now();
    this.readings = states.map((state) => ({ state, sample, before }));
    this.sample = sample;
  }

  private async lookOn(): Promise<void> {
    const { clock } = this.io;
    const { intervalMs, onLook } = this.options;
    this.isReading = true;
    const startMs = clock.monotonicMs();
    await this.look();
    this.isReading = false;
    const costMs = clock.monotonicMs() - startMs;
    // The shorter of two, because one may have been interrupted, and the very first one is slow.
    const restMs = restAfter(Math.min(costMs, this.lastCostMs));
    this.lastCostMs = costMs;
    onLook();
    if (!this.isWatched) return;
    this.timer = clock.setTimer(() => void this.lookOn(), Math.max(intervalMs, restMs));
  }
}

function restAfter(costMs: number): number {
  return Math.min(REST_FACTOR * costMs, Math.max(MAX_REST_MS, MIN_REST_FACTOR * costMs));
}

interface Read {
  readonly states: ReturnType<typeof readProcessStates>;
  readonly sample: TopSample;
}

async function readReading(
  source: ProcessSource,
  { timeoutMs, io }: { readonly timeoutMs: number; readonly io: CliIo },
): Promise<Result<Read, SourceFailure>> {
  try {
    const read = await readProcess(source, timeoutMs, io);
    if (!read.ok) return read;
    const report = parseReport(read.value.text);
    if (report === undefined) {
      return failed(explainNoReport(source.name, read.value.text));
    }
    const sample = sampleOf(report, undefined);
    return { ok: true, value: { states: readProcessStates(source.name, report, sample), sample } };
  } catch (error) {
    return failed(`${source.name}: ${errorMessage(error)}`, exitCode.unreachable);
  }
}
