import { firstBackoffStep, type BackoffStep } from '../../util/backoff';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { MAX_READ_PAUSE_MS, MIN_READ_PAUSE_MS, NACK_BACKOFF, READ_PAUSE_FACTOR } from '../limits';
import type { StreamClock } from '../reconnecting-stream';

/** Constructor options of the pacing. */
export interface NackPacingOptions {
  readonly clock: StreamClock;
  readonly random: Random;
  /** Called when a rejection that was held back may be sent. */
  readonly onDue: (typeUrl: string) => void;
}

/** How a response is rejected. */
export interface NackPace {
  /** Whether the rejection must be held back. */
  readonly isHeld: boolean;
  /** Milliseconds for which no response must be read. */
  readonly readPauseMs: number;
}

/** A response that is rejected. */
interface RejectedResponse {
  readonly reason: string;
  /** Whether a resource in it was accepted that is not the cached one: the server does not only repeat itself. */
  readonly hasNews: boolean;
  /** Milliseconds it took to read. */
  readonly readMs: number;
}

interface TypePace {
  /** Of the last response that was rejected. */
  reason: string;
  /** When the last rejection was sent, or is due; on the monotonic clock. */
  sentAtMs: number;
  /** How long the next rejection waits after it. */
  step: BackoffStep;
  /** Runs until it is sent. */
  held: Handle | undefined;
}

const AT_ONCE: NackPace = { isHeld: false, readPauseMs: 0 };

/**
 * Slows down a server that answers a rejection with what was rejected, which would go on as fast as both sides can run.
 * Only rejections wait, each type by itself, and only those that come soon after another: in a row of them for the same reason, each
 * longer than the one before.
 */
export class NackPacing {
  private readonly types = new Map<string, TypePace>();

  constructor(private readonly options: NackPacingOptions) {}

  /** Decides how a response is rejected. */
  reject(typeUrl: string, { reason, hasNews, readMs }: RejectedResponse): NackPace {
    const now = this.options.clock.monotonicMs();
    const pace = this.types.get(typeUrl);
    if (pace === undefined) {
      this.types.set(typeUrl, { reason, sentAtMs: now, step: this.firstStep(), held: undefined });
      return AT_ONCE;
    }
    const isSame = reason === pace.reason && !hasNews;
    pace.reason = reason;
    if (pace.held !== undefined) {
      // The server does not even wait for the answer.
      const pauseMs = Math.max(READ_PAUSE_FACTOR * readMs, MIN_READ_PAUSE_MS);
      return { isHeld: true, readPauseMs: Math.min(pauseMs, MAX_READ_PAUSE_MS) };
    }
    const isInRow = isSame && now < pace.sentAtMs + 2 * NACK_BACKOFF.maxMs;
    if (!isInRow) pace.step = this.firstStep();
    const dueAtMs = pace.sentAtMs + pace.step.delayMs;
    pace.step = pace.step.next();
    pace.sentAtMs = Math.max(now, dueAtMs);
    if (dueAtMs <= now) return AT_ONCE;
    pace.held = this.options.clock.setTimer(() => {
      pace.held = undefined;
      this.options.onDue(typeUrl);
    }, dueAtMs - now);
    return { isHeld: true, readPauseMs: 0 };
  }

  /** Ends a row of rejections: a response of the type is acknowledged. One that is held is not sent by `onDue`. */
  endRow(typeUrl: string): void {
    const pace = this.types.get(typeUrl);
    if (pace === undefined) return;
    pace.held?.release();
    pace.held = undefined;
    pace.sentAtMs = Math.min(pace.sentAtMs, this.options.clock.monotonicMs());
    pace.step = this.firstStep();
  }

  /** Ends every hold. */
  clear(): void {
    for (const { held } of this.types.values()) held?.release();
    this.types.clear();
  }

  private firstStep(): BackoffStep {
    return firstBackoffStep(NACK_BACKOFF, this.options.random);
  }
}
