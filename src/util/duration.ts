import type { Violations } from './violations';
import { withoutTrailing } from './text';

/** A protobuf Duration. */
export interface ProtoDuration {
  readonly seconds: bigint;
  readonly nanos: number;
}

// The limit of protobuf, about 10,000 years.
const MAX_SECONDS = 315_576_000_000n;
const MAX_NANOS = 999_999_999;

/**
 * Converts a duration that must not be negative.
 *
 * @returns milliseconds, possibly with a fraction; `undefined` after adding a violation.
 */
export function durationToMs(
  { seconds, nanos }: ProtoDuration,
  violations: Violations,
): number | undefined {
  const secondsValid = seconds >= 0n && seconds <= MAX_SECONDS;
  const nanosValid = nanos >= 0 && nanos <= MAX_NANOS;
  if (!secondsValid) {
    violations
      .at('seconds')
      .add(`must be from 0 to ${MAX_SECONDS.toString()}, not ${seconds.toString()}`);
  }
  if (!nanosValid) violations.at('nanos').add(`must be from 0 to ${MAX_NANOS}, not ${nanos}`);
  return secondsValid && nanosValid ? Number(seconds) * 1000 + nanos / 1e6 : undefined;
}

/** Converts milliseconds, which may have a fraction. */
export function msToDuration(ms: number): ProtoDuration {
  const seconds = Math.floor(ms / 1000);
  return {
    seconds: BigInt(seconds),
    nanos: Math.min(Math.round((ms - seconds * 1000) * 1e6), MAX_NANOS),
  };
}

const DURATION = /^(\d{1,12}(?:\.\d{1,9})?)s$/;

/** Parses a duration in the JSON form of protocol buffers, such as `1.5s`, to milliseconds. */
export function parseDurationString(text: string): number | undefined {
  const seconds = DURATION.exec(text)?.[1];
  // Whole nanoseconds first: 1.001 times 1000 is a little less than 1001.
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1e9) / 1e6;
}

/**
 * Writes a duration in seconds for a message, such as `15 s` or `0.25 s`: at most three decimals, and never an exponent.
 */
export function describeDuration(ms: number): string {
  if (ms > 0 && ms < 1) return 'less than 0.001 s';
  return `${withoutZeros((ms / 1000).toFixed(3))} s`;
}

/** Writes a duration that changes with every look, such as an age, in seconds with one decimal: `1.5 s`. */
export function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Formats milliseconds so that {@link parseDurationString} returns the same number. */
export function formatDurationString(ms: number): string {
  const text = withoutZeros((ms / 1000).toFixed(9));
  return `${text}s`;
}

function withoutZeros(decimal: string): string {
  return withoutTrailing(withoutTrailing(decimal, '0'), '.');
}
