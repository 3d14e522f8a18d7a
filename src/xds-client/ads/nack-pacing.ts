import { createHash } from 'node:crypto';
import { firstBackoffStep, type BackoffStep } from '../../util/backoff';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import {
  MAX_READ_PAUSE_MS,
  MIN_READ_PAUSE_MS,
  NACK_BACKOFF,
  NACK_SPACING_MS,
  READ_PAUSE_FACTOR,
} from '../limits';
import type { StreamClock } from '../reconnecting-stream';
import type { AdsResponse } from './ads-response';

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

interface TypePace {
  /** The content that was rejected last. */
  content: string;
  /** When the rejection was sent, or is due; on the monotonic clock. */
  sentAtMs: number;
  /** How long the next rejection of the same content waits after it. */
  step: BackoffStep;
  /** Runs until it is sent. */
  held: Handle | undefined;
}

const AT_ONCE: NackPace = { isHeld: false, readPauseMs: 0 };

/**
 * Slows down a server that answers a rejection with what was rejected, which would go on as fast as both sides can run.
 * Only rejections wait, each type by itself, and only those that come soon after another.
 */
export class NackPacing {
  private readonly types = new Map<string, TypePace>();

  constructor(private readonly options: NackPacingOptions) {}

  /**
   * Decides how a response is rejected.
   * @param content Equal for two responses of the same content; see {@link responseDigest}.
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
      // The server does not even wait for the answer.
      pace.content = content;
      const pauseMs = Math.max(READ_PAUSE_FACTOR * readMs, MIN_READ_PAUSE_MS);
      return { isHeld: true, readPauseMs: Math.min(pauseMs, MAX_READ_PAUSE_MS) };
    }
    const isLoop = content === pace.content && now < pace.sentAtMs + 2 * NACK_BACKOFF.maxMs;
    const dueAtMs = pace.sentAtMs + (isLoop ? pace.step.delayMs : NACK_SPACING_MS);
    pace.step = isLoop ? pace.step.next() : this.firstStep();
    pace.content = content;
    pace.sentAtMs = Math.max(now, dueAtMs);
    if (dueAtMs <= now) return AT_ONCE;
    pace.held = this.options.clock.setTimer(() => {
      pace.held = undefined;
      this.options.onDue(typeUrl);
    }, dueAtMs - now);
    return { isHeld: true, readPauseMs: 0 };
  }

  /** Ends the hold on a rejection without a call to `onDue`: a later response of the type is acknowledged. */
  endHold(typeUrl: string): void {
    const pace = this.types.get(typeUrl);
    pace?.held?.release();
    if (pace !== undefined) pace.held = undefined;
  }

  /** Ends every hold. */
  clear(): void {
    for (const typeUrl of this.types.keys()) this.endHold(typeUrl);
    this.types.clear();
  }

  private firstStep(): BackoffStep {
    return firstBackoffStep(NACK_BACKOFF, this.options.random);
  }
}

/** Returns a short text that is equal for two responses of the same content, whatever their versions and nonces are. */
export function responseDigest({ items, removed }: AdsResponse): string {
  const hash = createHash('sha256');
  for (let index = 0; index < items.length; index++) {
    const { name = '', resource } = items.at(index);
    hash.update(`${name.length} ${name} ${resource?.value.length ?? -1} `);
    if (resource !== undefined) hash.update(resource.typeUrl).update(resource.value);
  }
  for (const name of removed) hash.update(`${name.length} ${name} `);
  return hash.digest('base64');
}
