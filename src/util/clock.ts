import { createHandle, type Handle } from './handle';
import { inSeconds } from './duration';

/** The source of time and timers. Tests pass a fake one. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch, for display. */
  now(): number;
  /** Milliseconds since some fixed point; never goes back. For durations. */
  monotonicMs(): number;
  /**
   * Runs the callback once after `delayMs`. The timer does not keep the process alive, unless a call of the
   * application has nothing else to wait for: then `keepsAlive` is true.
   */
  setTimer(callback: () => void, delayMs: number, keepsAlive?: boolean): Handle;
  /**
   * Runs the callback when the current stack has unwound. For the effects of a pick: a pick must not replace its own
   * picker, or the call would queue on the replaced one.
   */
  soon(callback: () => void): void;
  /**
   * Runs the callback in the next turn of the event loop, after the I/O and the timers that are due. It keeps the process
   * alive until then. Absent from clocks that only have timers; see `inNextTurn`.
   */
  nextTurn?(callback: () => void): Handle;
  /** Notices when the event loop is blocked. Default: nothing does. */
  readonly eventLoop?: EventLoopWatch;
}

/** When the process started, in milliseconds since the epoch. */
export const PROCESS_START_MS = performance.timeOrigin;

/** The delay that stands in for the next turn. */
const TURN_MS = 1;

/** Runs the callback in the next turn of the event loop. */
export function inNextTurn(
  clock: Pick<Clock, 'nextTurn' | 'setTimer'>,
  callback: () => void,
): Handle {
  return clock.nextTurn?.(callback) ?? clock.setTimer(callback, TURN_MS);
}

// setTimeout takes a signed 32-bit number of milliseconds and fires at once beyond it.
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Keeps the process from ending while something that the application waits for is pending: established connections to
 * management servers and timers of this package do not.
 */
export function keepProcessAlive(clock: Pick<Clock, 'setTimer'>): Handle {
  let timer: Handle;
  const start = () => {
    timer = clock.setTimer(start, MAX_DELAY_MS, true);
  };
  start();
  return createHandle(() => timer.release());
}

/** Milliseconds between two looks at the time. */
const INTERVAL_MS = 250;
/** Milliseconds by which a timer is late if the event loop counts as blocked. */
const BLOCKED_MS = 1000;
/** Milliseconds without a new call after which nothing is watched any more. */
const IDLE_MS = 30_000;
/** The number of blocks that are remembered. */
const MAX_BLOCKS = 16;

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

  constructor(private readonly time: Pick<Clock, 'monotonicMs' | 'setTimer'>) {}

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
    return `this process was blocked for ${inSeconds(longestMs)}`;
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

const systemTime: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(callback, delayMs, keepsAlive = false) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS));
    if (!keepsAlive) timer.unref();
    return createHandle(() => clearTimeout(timer));
  },
  soon: (callback) => process.nextTick(callback),
  nextTurn(callback) {
    // A timer would leave the process idle for a millisecond, which at a start is a third of the time.
    let immediate: NodeJS.Immediate | undefined = setImmediate(() => {
      // Node.js leaves those that have run linked to the others of their turn: the handle would keep what they hold.
      immediate = undefined;
      callback();
    });
    return createHandle(() => clearImmediate(immediate));
  },
};

/** The clock of the system. */
export const systemClock: Clock = { ...systemTime, eventLoop: new EventLoopWatch(systemTime) };

/** What the event loop of the process does. */
export interface EventLoop {
  /** Milliseconds in which the loop was not idle so far. */
  activeMs(): number;
  /** Milliseconds of CPU of all threads so far. Where system calls are slow, it takes 0.1 ms to read. */
  cpuMs(): number;
  /** Runs the callback once after the I/O of a turn. Neither keeps the process alive nor wakes it up. */
  afterIo(callback: () => void): void;
}

export const systemLoop: EventLoop = {
  activeMs() {
    // Bun does not measure its loop.
    const measured: Partial<Pick<typeof performance, 'eventLoopUtilization'>> = performance;
    return measured.eventLoopUtilization?.().active ?? systemLoop.cpuMs();
  },
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  afterIo(callback) {
    // The loop does not stay awake for an immediate without a reference.
    setImmediate(callback).unref();
  },
};
