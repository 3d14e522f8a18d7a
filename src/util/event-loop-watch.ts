import type { Handle } from './handle';

/** Milliseconds between two looks at the time. */
const INTERVAL_MS = 250;
/** Milliseconds by which a timer is late if the event loop counts as blocked. */
const BLOCKED_MS = 1000;
/** Milliseconds without a new call after which nothing is watched any more. */
const IDLE_MS = 30_000;
/** The number of blocks that are remembered. */
const MAX_BLOCKS = 16;

/** The time and the timers of a clock. */
export interface TimeSource {
  monotonicMs(): number;
  setTimer(callback: () => void, delayMs: number): Handle;
}

/** A time in which the event loop did not run. */
interface Block {
  readonly endMs: number;
  readonly ms: number;
}

/**
 * Notices when the event loop of the process is blocked, such as by a long computation: calls whose deadline passes
 * meanwhile look as if the network were slow. One timer serves all calls. It runs from the start of a call until none was
 * started for half a minute; a process without calls is not woken up.
 */
export class EventLoopWatch {
  /** The newest at the end. */
  private readonly blocks: Block[] = [];
  private timer: Handle | undefined;
  /** When the timer ran last. */
  private lastMs = 0;
  private callMs = 0;
  private hasCall = false;

  constructor(private readonly time: TimeSource) {}

  /** Handles the start of a call. */
  onCall(): void {
    this.hasCall = true;
    if (this.timer === undefined) this.start();
  }

  /**
   * Describes the longest time that the event loop was blocked for within the last `withinMs` milliseconds; `undefined`
   * if it was not, or if that is not known.
   */
  describeBlock(withinMs: number): string | undefined {
    const nowMs = this.time.monotonicMs();
    const sinceMs = nowMs - withinMs;
    let longestMs = this.timer === undefined ? 0 : this.latenessMs(nowMs);
    for (const { endMs, ms } of this.blocks) {
      if (endMs > sinceMs) longestMs = Math.max(longestMs, ms);
    }
    if (longestMs <= BLOCKED_MS) return undefined;
    return `this process was blocked for ${(longestMs / 1000).toFixed(1)} s`;
  }

  private start(): void {
    this.lastMs = this.time.monotonicMs();
    this.timer = this.time.setTimer(() => this.onTimer(), INTERVAL_MS);
  }

  private onTimer(): void {
    const nowMs = this.time.monotonicMs();
    const ms = this.latenessMs(nowMs);
    if (ms > BLOCKED_MS) this.blocks.push({ endMs: nowMs, ms });
    if (this.blocks.length > MAX_BLOCKS) this.blocks.shift();
    if (this.hasCall) this.callMs = nowMs;
    this.hasCall = false;
    this.timer = undefined;
    if (nowMs - this.callMs < IDLE_MS) this.start();
  }

  private latenessMs(nowMs: number): number {
    return nowMs - this.lastMs - INTERVAL_MS;
  }
}
