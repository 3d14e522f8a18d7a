import { firstBackoffStep, type BackoffStep } from '../util/backoff';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import {
  MAX_READ_PAUSE_MS,
  MIN_READ_PAUSE_MS,
  NACK_BACKOFF,
  NACK_SPACING_MS,
  READ_PAUSE_FACTOR,
} from './limits';

/** Constructor options of the pacing. */
export interface NackPacingOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly random: Random;
  /** A rejection that was held back may be sent. */
  readonly onRelease: (typeUrl: string) => void;
}

/** What to do about a response that is rejected. */
export interface NackPace {
  /** Whether the rejection must be held back. */
  readonly isHeld: boolean;
  /** Milliseconds for which nothing more is to be read. */
  readonly readPauseMs: number;
}

interface TypePace {
  /** What was rejected last. */
  content: string;
  /** When it was sent, or will be; on the monotonic clock. */
  sentAtMs: number;
  /** How long the next one waits after it, if it is of the same. */
  step: BackoffStep;
  /** Until it is sent. */
  held: Handle | undefined;
}

const AT_ONCE: NackPace = { isHeld: false, readPauseMs: 0 };

/**
 * Slows down a server that answers a rejection with what was rejected: without a pause that would go on as fast
 * as both sides can run. Only rejections wait, each type by itself, and only those that come soon after another.
 */
export class NackPacing {
  private readonly types = new Map<string, TypePace>();

  constructor(private readonly options: NackPacingOptions) {}

  /**
   * A response was rejected.
   * @param content Equal for two responses that have the same to say.
   * @param readMs Milliseconds it took to read.
   */
  reject(typeUrl: string, content: string, readMs: number): NackPace {
    const now = this.options.clock.monotonicMs();
    const pace = this.types.get(typeUrl);
    if (pace === undefined) {
      const step = this.firstStep();
      this.types.set(typeUrl, { content, sentAtMs: now, step, held: undefined });
      return AT_ONCE;
    }
    if (pace.held !== undefined) {
      // It does not even wait for the answer.
      pace.content = content;
      const pauseMs = Math.max(READ_PAUSE_FACTOR * readMs, MIN_READ_PAUSE_MS);
      return { isHeld: true, readPauseMs: Math.min(pauseMs, MAX_READ_PAUSE_MS) };
    }
    const isLoop = content === pace.content && now < pace.sentAtMs + 2 * NACK_BACKOFF.maxMs;
    const openAtMs = pace.sentAtMs + (isLoop ? pace.step.delayMs : NACK_SPACING_MS);
    pace.step = isLoop ? pace.step.next() : this.firstStep();
    pace.content = content;
    pace.sentAtMs = Math.max(now, openAtMs);
    if (openAtMs <= now) return AT_ONCE;
    pace.held = this.options.clock.setTimer(() => {
      pace.held = undefined;
      this.options.onRelease(typeUrl);
    }, openAtMs - now);
    return { isHeld: true, readPauseMs: 0 };
  }

  /** Nothing of a type is held back any longer: the server has gone on to something else. */
  release(typeUrl: string): void {
    const pace = this.types.get(typeUrl);
    pace?.held?.release();
    if (pace !== undefined) pace.held = undefined;
  }

  /** Ends everything. */
  clear(): void {
    for (const typeUrl of this.types.keys()) this.release(typeUrl);
    this.types.clear();
  }

  private firstStep(): BackoffStep {
    return firstBackoffStep(NACK_BACKOFF, this.options.random);
  }
}
