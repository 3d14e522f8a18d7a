import { firstBackoffStep, type BackoffOptions, type BackoffStep } from '../util/backoff';
import type { Random } from '../util/random';

/** So many cuts within the window begin the pauses. */
const CUTS = 3;
const WINDOW_MS = 30_000;

/** The pauses: 5 s, 25 s, and then 2 min. */
const cutBackoff: BackoffOptions = {
  ...{ initialMs: 5000, multiplier: 5, maxMs: 120_000 },
  jitter: 0.2,
};

/** What is seen of a server that ends its streams soon after they opened. */
export interface CutStreams {
  /** The streams in a row that it ended. */
  readonly count: number;
  /** How long the last one was open, in milliseconds. */
  readonly lastAgeMs: number;
  /** Milliseconds from the end of the last one to the next one, unless something is awaited. */
  readonly pauseMs: number;
}

/** The end of a stream. */
export interface StreamEnd {
  /** When it opened, on the same clock as `nowMs`. */
  readonly openedAtMs: number;
  readonly nowMs: number;
  /** The connection that it was on, if it outlived the stream. */
  readonly connection: number | undefined;
}

/**
 * Counts the streams that a server ends although it answered on them (docs/decisions/0037-streams-that-are-cut.md). A server that keeps one stream
 * for each host, as the agent of Istio does, ends that of one process when another one connects: processes that come back at
 * once (gRFC A57) end each other's streams for ever. Such a server ends streams on a connection that stays; one that restarts
 * ends the connection.
 */
export class StreamCuts {
  /** When the last streams of one connection ended, while there are too few for pauses. */
  private ends: number[] = [];
  private connection: number | undefined;
  private backoff: BackoffStep | undefined;
  private cut: CutStreams | undefined;

  constructor(private readonly random: Random) {}

  /** What is seen of the server; `undefined` unless it ends its streams soon after they opened. */
  get current(): CutStreams | undefined {
    return this.cut;
  }

  /** Handles that a stream has ended. @returns milliseconds until the next one, unless something is awaited; `undefined` for no pause. */
  onEnded({ openedAtMs, nowMs, connection }: StreamEnd): number | undefined {
    const ageMs = nowMs - openedAtMs;
    if (connection !== this.connection) this.ends = [];
    this.connection = connection;
    if (ageMs >= this.lastingMs) this.reset();
    else if (connection !== undefined) this.countCut(ageMs, nowMs);
    return connection === undefined ? undefined : this.cut?.pauseMs;
  }

  /** The age at which a stream has lasted: a pause of other processes, which may be at the next step, is not enough for it. */
  get lastingMs(): number {
    const { multiplier, maxMs } = cutBackoff;
    const nextPauseMs = Math.min(maxMs, multiplier * (this.cut?.pauseMs ?? 0));
    return Math.max(WINDOW_MS, 2 * nextPauseMs);
  }

  /** Begins anew: a stream has lasted. */
  reset(): void {
    this.ends = [];
    this.backoff = undefined;
    this.cut = undefined;
  }

  private countCut(lastAgeMs: number, nowMs: number): void {
    if (this.backoff === undefined) {
      this.ends = [...this.ends.filter((atMs) => nowMs - atMs < WINDOW_MS), nowMs];
      if (this.ends.length < CUTS) return;
    }
    this.backoff = this.backoff?.next() ?? firstBackoffStep(cutBackoff, this.random);
    const count = this.cut === undefined ? CUTS : this.cut.count + 1;
    this.cut = { count, lastAgeMs, pauseMs: this.backoff.delayMs };
  }
}
