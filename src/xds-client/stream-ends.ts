import { StatusCode } from '../util/status-code';
import type { StreamStatus } from './transport';

/** Of streams in a row that end early, from which one on the log names it. */
const REPORTED_ENDS = 3;
/** A stream of this age has lasted: it is older than the longest pause of another process. */
export const LASTING_MS = 12_000;
/** The share by which a pause varies, up and down. The longest pause is 9.6 s. */
export const PAUSE_JITTER = 0.2;
const PAUSE_MS = 8000;
/** The pause after the first one: a command such as `doctor` that has displaced it needs the stream for less. */
const FIRST_PAUSE_MS = 1000;
/** While something is awaited, each pause is the one before multiplied by this, up to `PAUSE_MS`. */
const AWAITED_MULTIPLIER = 2;
/** So many displaced streams in a row may end before a response; the next one is a failure (gRFC A57). */
const MAX_SILENT = 4;

/** How a stream ended that the server has ended. */
export interface StreamEnd {
  /** A gRPC status code. */
  readonly code: number;
  /** The connection that it was on, if that outlived it. */
  readonly connection: number | undefined;
  readonly ageMs: number;
  /** Whether the server has sent a usable response on it. */
  readonly hasAnswered: boolean;
  /** Whether a resource that was requested on it was not received, or calls fail or wait for want of a change. */
  readonly isAwaited: boolean;
}

/** What the ends of the last streams to a server say. */
export interface StreamEnds {
  /** The connection of the last displaced stream. */
  readonly connection: number | undefined;
  /** The number of displaced streams since one has lasted. */
  readonly displaced: number;
  /** Of these, the last ones in a row that ended while something was awaited. */
  readonly awaited: number;
  /** Of these, the last ones in a row that had no response either. */
  readonly silent: number;
  /** The streams that ended with an error after a response since one has lasted. */
  readonly errors: number;
}

/** Why no stream lasts, although the server answers. */
export type UnsteadyCause = 'displaced' | 'errors';

/** Returns why no stream lasts; `undefined` before several in a row have not. */
export function unsteadyCause({ displaced, errors }: StreamEnds): UnsteadyCause | undefined {
  if (displaced >= REPORTED_ENDS) return 'displaced';
  return errors >= REPORTED_ENDS ? 'errors' : undefined;
}

/** Before the first stream, and after one that has lasted. */
export const NO_ENDS: StreamEnds = {
  connection: undefined,
  displaced: 0,
  awaited: 0,
  silent: 0,
  errors: 0,
};

/** What follows the end of a stream. */
export interface AfterStreamEnd {
  readonly ends: StreamEnds;
  /** Whether the server has failed (gRFC A57). */
  readonly isFailure: boolean;
  /**
   * Milliseconds until the next stream, before jitter; `undefined` for the connection backoff after a failure, and for the next
   * stream at once otherwise.
   */
  readonly pauseMs: number | undefined;
}

/** Whether the server ended a stream because another process of the host has opened one. */
export function isDisplaced({ code, connection }: StreamStatus | StreamEnd): boolean {
  return code === StatusCode.OK && connection !== undefined;
}

/**
 * Decides what follows the end of a stream (docs/decisions/ads-streams.md). A server that keeps one stream for
 * each host, as the agent of Istio does, displaces that of one process when another one connects: it ends it with OK, on a
 * connection that stays. Every other end is one of gRFC A57.
 */
export function afterStreamEnd(before: StreamEnds, end: StreamEnd): AfterStreamEnd {
  const { ageMs, connection, hasAnswered, isAwaited } = end;
  const hasLasted = ageMs >= LASTING_MS;
  if (!isDisplaced(end) || hasLasted) {
    const isError = hasAnswered && end.code !== StatusCode.OK;
    const counted = isError ? { ...before, errors: before.errors + 1 } : before;
    return { ends: hasLasted ? NO_ENDS : counted, isFailure: !hasAnswered, pauseMs: undefined };
  }
  // A control plane that ends its streams in good order, and its connection after them, does so once for each connection.
  const isRepeated = connection === before.connection || before.displaced > 1;
  const displaced = isRepeated ? before.displaced + 1 : 1;
  const awaited = isAwaited ? before.awaited + 1 : 0;
  const silent = isAwaited && !hasAnswered ? before.silent + 1 : 0;
  const ends = { ...before, connection, displaced, awaited, silent };
  const calmMs = displaced > 1 ? PAUSE_MS : FIRST_PAUSE_MS;
  const pauseMs = isAwaited ? awaitedPauseMs(awaited) : calmMs;
  return { ends, isFailure: silent > MAX_SILENT, pauseMs };
}

function awaitedPauseMs(awaited: number): number {
  return Math.min(PAUSE_MS, FIRST_PAUSE_MS * AWAITED_MULTIPLIER ** (awaited - 1));
}
