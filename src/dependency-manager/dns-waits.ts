import { createHandle, type Handle } from '../util/handle';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import { inSeconds } from '../util/duration';
import { afterRunning } from '../util/running-time';
import { quoteName, quoteText } from '../util/text';
import { LONG_WAIT_MS } from '../xds-client/long-waits';

/**
 * Milliseconds after which a name counts as failed until there is an answer: those after which a resource that a server has not
 * sent does not exist (gRFC A57).
 */
const DNS_TIMEOUT_MS = 15_000;

/** The number of names that have a line of their own in the log, of those that are reported together. */
const MAX_LINES = 10;

/** What to check of a name that the resolver of this host does not resolve. */
export const NEXT_STEP = 'check the name, and the DNS servers of this host';

/** Constructor options of the waits. */
export interface DnsWaitsOptions {
  readonly clock: Clock;
  /** A name that several targets wait for has one line in it. */
  readonly logger: Logger;
  /** Names the management servers and the node, as `describeServers` does. */
  readonly clientNote: string;
  /** Returns the clusters that use a name. */
  readonly usersOf: (key: string) => readonly string[];
}

/** The names in each log that are still pending. */
const namesInLogs = new WeakMap<Logger, Set<string>>();

/** A name that is being resolved for the first time. */
export interface PendingName {
  /** `host:port`. */
  readonly key: string;
  /** Returns what resolves the name, such as `getaddrinfo of the operating system`. */
  readonly resolver: () => string;
  /**
   * Called when the time is over, with the reason and since when it was waited for, in milliseconds since the epoch. The name
   * is no longer pending then.
   */
  readonly onTimeout: (reason: string, sinceMs: number) => void;
}

interface Wait extends PendingName {
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** Until it counts as failed. */
  readonly limit: Handle;
  isLogged: boolean;
}

/**
 * The DNS names of one target that have no answer yet: says what is waited for, logs a long wait once and its end once, and
 * bounds it.
 */
export class DnsWaits {
  /** The oldest first. */
  private readonly waits = new Map<string, Wait>();
  /** The names that were logged, and since when they were pending. */
  private readonly logged = new Map<string, number>();
  private readonly namesInLog: Set<string>;
  private timer: Handle | undefined;

  constructor(private readonly options: DnsWaitsOptions) {
    this.namesInLog = namesInLogs.get(options.logger) ?? new Set();
    namesInLogs.set(options.logger, this.namesInLog);
  }

  /** Handles that a name is being resolved, until the handle is released. */
  begin(name: PendingName): Handle {
    const { clock } = this.options;
    const limit = afterRunning(clock, () => this.fail(wait), DNS_TIMEOUT_MS);
    const wait: Wait = { ...name, sinceMs: clock.monotonicMs(), limit, isLogged: false };
    this.waits.get(name.key)?.limit.release();
    this.waits.set(name.key, wait);
    this.timer ??= this.startTimer(LONG_WAIT_MS);
    return createHandle(() => {
      if (this.logged.delete(name.key)) this.namesInLog.delete(name.key);
      if (this.waits.get(name.key) === wait) this.remove(name.key);
    });
  }

  /** Handles that there is an answer, also one after the time was over. */
  onAnswer(key: string): void {
    this.remove(key);
    const sinceMs = this.logged.get(key);
    if (sinceMs === undefined) return;
    this.logged.delete(key);
    this.namesInLog.delete(key);
    const { clock, logger } = this.options;
    logger.info(
      () => `${describeName(key)}: answered after ${inSeconds(clock.monotonicMs() - sinceMs)}`,
      { event: 'dns-answered', name: key },
    );
  }

  /** Returns the line of a name; `undefined` if it is not pending. */
  line(key: string): string | undefined {
    const wait = this.waits.get(key);
    return wait && this.describe(wait);
  }

  /** Returns one line for each pending name, and one with the number of those beyond `atMost`. */
  lines(atMost: number): readonly string[] {
    const shown = [...this.waits.values()].slice(0, atMost).map((wait) => this.describe(wait));
    const left = this.waits.size - shown.length;
    return left === 0 ? shown : [...shown, `and ${describeMore(left)}`];
  }

  private describe({ key, resolver, sinceMs }: Wait): string {
    const { clock, usersOf, clientNote } = this.options;
    const waitedMs = clock.monotonicMs() - sinceMs;
    const [user, ...others] = usersOf(key);
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    const users = user === undefined ? '' : ` of Cluster ${quoteName(user)}${more}`;
    return `${describeName(key)}${users}: waiting for ${inSeconds(waitedMs)}: ${resolver()} has not answered since ${toIso(clock.now() - waitedMs)} (${clientNote}): ${NEXT_STEP}`;
  }

  private remove(key: string): void {
    this.waits.get(key)?.limit.release();
    this.waits.delete(key);
    if (this.waits.size > 0) return;
    this.timer?.release();
    this.timer = undefined;
  }

  private startTimer(delayMs: number): Handle {
    return afterRunning(this.options.clock, () => this.onTimer(), delayMs);
  }

  private onTimer(): void {
    this.timer = undefined;
    const nowMs = this.options.clock.monotonicMs();
    const long: Wait[] = [];
    for (const wait of this.waits.values()) {
      if (wait.isLogged) continue;
      const restMs = wait.sinceMs + LONG_WAIT_MS - nowMs;
      if (restMs > 0) {
        this.timer = this.startTimer(restMs);
        break;
      }
      long.push(wait);
    }
    this.log(long);
  }

  private log(long: readonly Wait[]): void {
    const { logger } = this.options;
    for (const wait of long) wait.isLogged = true;
    const fresh = long.filter(({ key }) => !this.namesInLog.has(key));
    for (const wait of fresh.slice(0, MAX_LINES)) {
      this.logged.set(wait.key, wait.sinceMs);
      this.namesInLog.add(wait.key);
      logger.error(() => this.describe(wait), { event: 'dns-waiting', name: wait.key });
    }
    const left = fresh.length - MAX_LINES;
    if (left > 0) logger.error(() => describeMore(left));
  }

  private fail(wait: Wait): void {
    const { key, resolver, sinceMs, onTimeout } = wait;
    if (this.waits.get(key) !== wait) return;
    this.remove(key);
    const { clock, clientNote } = this.options;
    onTimeout(
      `DNS resolution of ${key} failed: ${resolver()} has not answered within ${DNS_TIMEOUT_MS / 1000}s (${clientNote}): ${NEXT_STEP}`,
      clock.now() - (clock.monotonicMs() - sinceMs),
    );
  }
}

/** Returns a time to the second. */
function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+/, '');
}

function describeName(key: string): string {
  return `DNS name ${quoteText(key)}`;
}

function describeMore(count: number): string {
  return count === 1
    ? '1 more DNS name is also pending'
    : `${count} more DNS names are also pending`;
}
