import type { Random } from './random';

/** The parameters of an exponential backoff; see the gRPC connection backoff document. */
export interface BackoffOptions {
  /** Milliseconds before the second attempt. */
  readonly initialMs: number;
  readonly multiplier: number;
  /** Maximum in milliseconds, before jitter. */
  readonly maxMs: number;
  /** Fraction by which each delay varies, up and down. */
  readonly jitter: number;
}

/** gRPC's connection backoff: 1 s, factor 1.6, at most 120 s, ±20 %. */
export const connectionBackoff: BackoffOptions = {
  initialMs: 1000,
  multiplier: 1.6,
  maxMs: 120_000,
  jitter: 0.2,
};

/** One immutable step of an exponential backoff. */
export interface BackoffStep {
  /** Milliseconds until the next attempt, jitter included. */
  readonly delayMs: number;
  /** Returns the step after this one. */
  next(): BackoffStep;
}

/** Returns the first step of an exponential backoff with jitter. */
export function firstBackoffStep(options: BackoffOptions, random: Random): BackoffStep {
  return stepAt(options, random, Math.min(options.initialMs, options.maxMs));
}

function stepAt(options: BackoffOptions, random: Random, baseMs: number): BackoffStep {
  const spread = options.jitter * (2 * random() - 1);
  return {
    delayMs: baseMs * (1 + spread),
    next: () => stepAt(options, random, Math.min(baseMs * options.multiplier, options.maxMs)),
  };
}
