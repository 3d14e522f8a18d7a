import { closeUnusedConnections } from '../../grpc-js/host-internals';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import type { LbBatch } from '../tree/lb-batch';
import { type BackoffStep, connectionBackoff, firstBackoffStep } from '../../util/backoff';

/** The time for which attempts are started without a break. grpc-js takes longer to start one the more there are. */
const SLICE_MS = 4;
/** The same while configuration is applied in steps: what it removes need not be connected to any more. */
const APPLYING_SLICE_MS = 0.25;
/** The shortest delay of a timer. */
const BREAK_MS = 1;
/**
 * The time after which an attempt is no longer counted. Attempts to hosts that do not respond last minutes, and must not
 * delay those to other hosts.
 */
const SLOW_MS = 1000;

/** An attempt to connect to one endpoint. */
export interface ConnectionAttempt {
  /** The host of the policy of the endpoint: policies take turns, and `start` runs in the batch of the tree. */
  readonly host: { readonly environment: { readonly batch: Pick<LbBatch, 'run'> } };
  /** Whether it is not needed any more, so that it is not started. Default: it is needed. */
  readonly isObsolete?: boolean;
  /** Starts connecting; `ended` or `delete` must be called afterwards. */
  start(): void;
}

export interface ConnectionAttemptsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Attempts in flight at a time. */
  readonly maxConnectionAttempts: number;
  /** The slices of time in which configuration is applied. Default: none is. */
  readonly timeSlices?: { readonly isBusy: boolean };
  /** Closes the connections that were released. Default: those of grpc-js. */
  readonly closeUnused?: () => void;
}

/**
 * Decides when connections to endpoints are attempted, for all channels of the process: a bounded number at a time, in
 * slices of a few milliseconds, and one at a time while the process has no file descriptors left.
 */
export class ConnectionAttempts {
  /** The start time of each attempt that is not slow, the oldest first. */
  private readonly inFlight = new Map<ConnectionAttempt, number>();
  /** The pending attempts that calls wait for. */
  private readonly urgent = new FairQueue<ConnectionAttempt>();
  private readonly waiting = new FairQueue<ConnectionAttempt>();
  private timer: Handle | undefined;
  /** The due time of the timer. */
  private timerMs = Infinity;
  /** The duration of the work since the last break, and its end. */
  private workedMs = 0;
  private workEndMs = -Infinity;
  private connections = 0;
  private shortage: DescriptorShortage | undefined;
  /** The error of endpoints whose attempts are pending for lack of file descriptors; else `undefined`. Read only. */
  shortageText: string | undefined;

  constructor(private readonly options: ConnectionAttemptsOptions) {}

  /**
   * Starts the attempt, now if possible, else in its turn. Must be called in the batch of the attempt.
   *
   * @param isUrgent Whether a call waits for the connection.
   */
  request(attempt: ConnectionAttempt, isUrgent: boolean): void {
    if (this.inFlight.has(attempt)) return;
    const now = this.options.clock.monotonicMs();
    const isFirst = this.urgent.size === 0 && (isUrgent || this.waiting.size === 0);
    if (isUrgent) this.waiting.delete(attempt);
    if (now - this.workEndMs >= BREAK_MS) this.workedMs = 0;
    if (isFirst && this.mayStart(now, isUrgent)) this.start(attempt, now);
    else if (isUrgent) this.urgent.add(attempt);
    else this.waiting.add(attempt);
    this.schedule(now);
  }

  /** Records the end of an attempt. @param error The error if it failed. */
  ended(attempt: ConnectionAttempt, error: string | null): void {
    this.inFlight.delete(attempt);
    const { clock } = this.options;
    const now = clock.monotonicMs();
    const code = error === null ? undefined : findShortage(error);
    if (code === undefined) this.shortage?.onAvailable();
    else this.onShortage(code, now);
    if (this.shortage !== undefined) this.endShortage(this.shortage);
    this.schedule(now);
  }

  delete(attempt: ConnectionAttempt): void {
    this.urgent.delete(attempt);
    this.waiting.delete(attempt);
    this.inFlight.delete(attempt);
    this.schedule(this.options.clock.monotonicMs());
  }

  opened(): void {
    this.connections++;
  }

  /** Counts a connection that was closed, whose file descriptor will be free soon. */
  closed(): void {
    this.connections--;
    if (this.shortage === undefined) return;
    const now = this.options.clock.monotonicMs();
    this.shortage.onClosed(now);
    this.schedule(now);
  }

  private onShortage(code: string, now: number): void {
    if (this.shortage !== undefined) {
      this.shortage.onExhausted(now);
      return;
    }
    const { random, logger } = this.options;
    this.shortage = new DescriptorShortage(code, random, now);
    const { text } = this.shortage;
    this.shortageText = text;
    const { connections } = this;
    // The attempt that failed is pending again.
    const pending = this.urgent.size + this.waiting.size + this.inFlight.size + 1;
    logger.error(
      () =>
        `xds: ${text}: ${connections} connections to endpoints are open, ${pending} more are pending; raise the limit of ` +
        'open files (ulimit -n), or use a policy that connects to fewer endpoints (random_subsetting, ring_hash, pick_first)',
    );
  }

  /** Ends the shortage once no attempt is left, or as many may be in flight as without it. */
  private endShortage({ code, window }: DescriptorShortage): void {
    const { maxConnectionAttempts, logger } = this.options;
    const left = this.urgent.size + this.waiting.size + this.inFlight.size;
    if (window === 0 || (left > 0 && window < maxConnectionAttempts)) return;
    this.shortage = undefined;
    this.shortageText = undefined;
    logger.info(() => `xds: recovered: connections can be opened again (${code})`, {
      event: 'recovered',
    });
  }

  /** Whether an attempt may start without a break. */
  private mayStart(now: number, isUrgent: boolean): boolean {
    const isApplying = this.options.timeSlices?.isBusy === true && !isUrgent;
    return this.workedMs < (isApplying ? APPLYING_SLICE_MS : SLICE_MS) && this.hasRoom(now);
  }

  private hasRoom(now: number): boolean {
    const { maxConnectionAttempts } = this.options;
    if (this.shortage?.probeIfDue(now) === 'after closing') {
      (this.options.closeUnused ?? closeUnusedConnections)();
    }
    const max = Math.min(maxConnectionAttempts, this.shortage?.window ?? Infinity);
    return this.inFlight.size < max;
  }

  private start(attempt: ConnectionAttempt, now: number): void {
    this.inFlight.set(attempt, now);
    attempt.start();
    this.count(now);
  }

  private count(startMs: number): void {
    this.workEndMs = this.options.clock.monotonicMs();
    this.workedMs += this.workEndMs - startMs;
  }

  private runSlice(): void {
    const { clock } = this.options;
    this.timer = undefined;
    this.timerMs = Infinity;
    let now = clock.monotonicMs();
    this.workedMs = 0;
    this.removeSlow(now);
    while (this.mayStart(now, this.urgent.size > 0)) {
      const attempt = this.urgent.take() ?? this.waiting.take();
      if (attempt === undefined) break;
      const startMs = now;
      if (attempt.isObsolete === true) this.count(startMs);
      else attempt.host.environment.batch.run(() => this.start(attempt, startMs));
      now = this.workEndMs;
    }
    this.schedule(now);
  }

  private removeSlow(now: number): void {
    for (const [attempt, startMs] of this.inFlight) {
      if (now - startMs < SLOW_MS) break;
      this.inFlight.delete(attempt);
    }
  }

  /** Sets the timer for the next slice, if attempts are pending. */
  private schedule(now: number): void {
    const { clock } = this.options;
    const isPending = this.urgent.size + this.waiting.size > 0;
    const dueMs = isPending ? this.nextSliceMs(now) : Infinity;
    // An earlier slice will schedule the next one.
    if (dueMs < Infinity && this.timerMs <= dueMs) return;
    this.timer?.release();
    this.timer = undefined;
    this.timerMs = dueMs;
    if (dueMs < Infinity) this.timer = clock.setTimer(() => this.runSlice(), dueMs - now);
  }

  private nextSliceMs(now: number): number {
    if (this.hasRoom(now)) return now + BREAK_MS;
    const probeMs = this.shortage?.window === 0 ? this.shortage.probeMs : Infinity;
    const [oldestMs] = this.inFlight.values();
    const slowMs = oldestMs === undefined ? Infinity : oldestMs + SLOW_MS;
    return Math.max(now + BREAK_MS, probeMs < Infinity ? probeMs : slowMs);
  }
}

/** A queue that takes one item of each host in turn, and the items of one host in the order they were added. */
export class FairQueue<Item extends { readonly host: object }> {
  /** The number of items. The queue alone sets it. */
  size = 0;
  /** Items by host. None is empty. */
  private readonly byHost = new Map<object, OrderedItems<Item>>();
  /** The hosts whose turn has not been in this round. */
  private turns = this.byHost.values();

  /** Adds the item at the end, unless it is in the queue. */
  add(item: Item): void {
    let items = this.byHost.get(item.host);
    if (items === undefined) this.byHost.set(item.host, (items = new OrderedItems()));
    if (items.add(item)) this.size++;
  }

  /** Removes the item. @returns Whether it was in the queue. */
  delete(item: Item): boolean {
    const items = this.byHost.get(item.host);
    if (items?.delete(item) !== true) return false;
    this.size--;
    if (items.size === 0) this.byHost.delete(item.host);
    return true;
  }

  take(): Item | undefined {
    if (this.size === 0) return undefined;
    let turn = this.turns.next();
    if (turn.done === true) turn = (this.turns = this.byHost.values()).next();
    const items = turn.value;
    const item = items?.take();
    if (items === undefined || item === undefined) return undefined;
    this.size--;
    if (items.size === 0) this.byHost.delete(item.host);
    return item;
  }
}

/**
 * Items in the order they were added. One iterator goes through them while they are removed: after many removals, it takes
 * long to find the first item of a set.
 */
class OrderedItems<Item> {
  private readonly items = new Set<Item>();
  /** The items that were not taken. It never comes to its end, since `take` is called while there are some. */
  private readonly order = this.items.values();

  get size(): number {
    return this.items.size;
  }

  /** @returns Whether the item was added; `false` if it is there already. */
  add(item: Item): boolean {
    return this.items.size < this.items.add(item).size;
  }

  delete(item: Item): boolean {
    return this.items.delete(item);
  }

  /** Removes the first item, of at least one. */
  take(): Item | undefined {
    const { value } = this.order.next();
    if (value !== undefined) this.items.delete(value);
    return value;
  }
}

/** Node's names of the two errors, with their meaning (errno(3)). */
const CODES: ReadonlyMap<string, string> = new Map([
  ['EMFILE', 'too many open files in this process'],
  ['ENFILE', 'too many open files in the system'],
]);
/** The delay of an attempt after a connection was released or closed, until its socket has been closed. */
const CLOSED_MS = 100;

/** Returns the code of an error that reports a lack of file descriptors. */
function findShortage(error: string): string | undefined {
  for (const code of CODES.keys()) if (error.includes(code)) return code;
  return undefined;
}

/**
 * The time during which the process has no file descriptors for more connections. One attempt is made after a growing
 * delay, or after a connection was closed; while attempts succeed, more are made at a time.
 */
export class DescriptorShortage {
  /** The text for errors. */
  readonly text: string;
  /** The maximum number of attempts in flight. */
  window = 0;
  /** The time of the next attempt, if none may be in flight. */
  probeMs: number;
  private backoff: BackoffStep;
  private hasReleased = false;

  constructor(
    readonly code: string,
    private readonly random: Random,
    now: number,
  ) {
    this.text = `connections cannot be opened: ${CODES.get(code) ?? 'too many open files'} (${code})`;
    this.backoff = firstBackoffStep(connectionBackoff, random);
    this.probeMs = now + this.backoff.delayMs;
  }

  /**
   * Allows one attempt once it is due.
   * @returns 'after closing' if connections were released since the last attempt: the next one waits for their sockets.
   */
  probeIfDue(now: number): 'after closing' | undefined {
    if (this.window > 0 || now < this.probeMs) return undefined;
    if (this.hasReleased) {
      this.hasReleased = false;
      this.probeMs = now + CLOSED_MS;
      return 'after closing';
    }
    this.window = 1;
    return undefined;
  }

  /** Records that an attempt got a descriptor, unless it was in flight before the shortage. */
  onAvailable(): void {
    if (this.window > 0) this.window++;
  }

  /** Records that an attempt got no descriptor. */
  onExhausted(now: number): void {
    if (this.window === 0) return;
    this.window = 0;
    this.backoff = this.backoff.next();
    this.probeMs = now + this.backoff.delayMs;
  }

  /** Records that a connection was closed, or released by its policy. */
  onClosed(now: number): void {
    this.hasReleased = true;
    this.backoff = firstBackoffStep(connectionBackoff, this.random);
    this.probeMs = Math.min(this.probeMs, now + CLOSED_MS);
  }
}
