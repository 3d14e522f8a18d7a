import type { Clock } from './clock';
import type { Logger } from './logger';
import { joinHostPort } from './text';

/** Milliseconds over which connections and calls are counted before the line about them. */
const INTERVAL_MS = 1000;

/** Why a server closes connections, or refuses calls of them: what their clients did, and what to check. */
export interface CloseReason {
  readonly cause: string;
  readonly nextStep: string;
  /** Whether calls are refused, and connections stay. */
  readonly isOfCalls?: boolean;
}

/** The end of a connection of a server, below or above TLS. */
export interface LocalEnd {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/**
 * Reports the connections that a server closes, and the calls that it refuses, because of what their clients did: one line a second
 * for each reason and address.
 */
export class ClosedConnections {
  /** How many of each address, by reason, since the last lines. */
  private counts = new Map<CloseReason, Map<string, number>>();

  constructor(
    private readonly clock: Pick<Clock, 'setTimer'>,
    private readonly logger: Pick<Logger, 'error'>,
  ) {}

  /** Counts a connection that is still open, or one of its calls. */
  add(end: LocalEnd, reason: CloseReason): void {
    if (this.counts.size === 0) this.clock.setTimer(() => this.report(), INTERVAL_MS);
    const counts = this.counts.get(reason) ?? new Map<string, number>();
    const address = addressOf(end);
    counts.set(address, (counts.get(address) ?? 0) + 1);
    this.counts.set(reason, counts);
  }

  /** Reports at once why connections wait. Each time, others have blocked the process: that bounds the lines. */
  reportDelay(end: LocalEnd, text: string): void {
    this.logger.error(() => `server ${addressOf(end)}: ${text}`);
  }

  private report(): void {
    const { counts } = this;
    this.counts = new Map();
    for (const [{ cause, nextStep, isOfCalls = false }, byAddress] of counts) {
      for (const [address, count] of byAddress) {
        const what = `${isOfCalls ? 'refused' : 'closed'} ${count} ${isOfCalls ? 'call' : 'connection'}`;
        const text = `${what}${count === 1 ? '' : 's'}: ${cause}: ${nextStep}`;
        this.logger.error(() => `server ${address}: ${text}`);
      }
    }
  }
}

function addressOf({ localAddress, localPort = 0 }: LocalEnd): string {
  return localAddress === undefined ? 'Unix socket' : joinHostPort(localAddress, localPort);
}
