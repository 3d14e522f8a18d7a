import type { ApiFailure } from './kubernetes-api';
import type { BackoffOptions } from '../../../../src/util/backoff';

/**
 * The delays between requests that the API server answers with failures. Like those of the reflector of client-go (0.8 s to 30 s,
 * https://github.com/kubernetes/client-go/blob/v0.34.1/tools/cache/reflector.go), they spare an API server that is overloaded.
 */
export const RETRY_BACKOFF: BackoffOptions = {
  initialMs: 1000,
  multiplier: 2,
  maxMs: 30_000,
  jitter: 0.2,
};

/**
 * The delays between requests without an answer. client-go has the delays above for them as well, and may find an API server that has
 * restarted a minute late. A connection that is refused costs an API server nothing, and the first request that is answered
 * decides what follows: so the delay is bounded by a time that changes of endpoints may well be late.
 */
const AWAY_BACKOFF: BackoffOptions = { ...RETRY_BACKOFF, maxMs: 5000 };

/** How often it is looked whether a kind that was not installed is now, and after how long one that was is not any more. */
export const MISSING_MS = 30_000;

/** A watch that has lasted for so long is continued at once. */
const LASTING_MS = 5000;

/** What follows when a list has failed, or a watch has ended. */
export interface NextStep {
  /** Listed again, or watched from the last resource version on. */
  readonly next: 'list' | 'watch';
  /** The least number of milliseconds until then. */
  readonly delayMs: number;
  /** How the delay grows, as it does unless the API server says when. The first one is none if it is not a failure. */
  readonly backoff: BackoffOptions | undefined;
  /** Whether it is a failure, and not how watches end. */
  readonly isFailure: boolean;
  /** `missing`: the kind is not installed. `forbidden`: a role lacks it. `unauthorized`: the credentials are refused. */
  readonly cause: 'missing' | 'forbidden' | 'unauthorized' | 'failed';
}

/** What has ended. */
export interface EndedPhase {
  readonly phase: 'listing' | 'watching';
  /** Undefined for a watch that has ended by design. */
  readonly failure: ApiFailure | undefined;
  /** How long a watch has lasted. */
  readonly lastedMs: number;
  /** Whether the kind need not be installed. */
  readonly isOptional: boolean;
  /** Whether it has been. */
  readonly isKnown: boolean;
}

/** Decides what follows when a list has failed, or a watch has ended. */
export function nextStep({ phase, failure, lastedMs, isOptional, isKnown }: EndedPhase): NextStep {
  const cause = causeOf(failure, isOptional);
  if (cause === 'missing') {
    const delayMs = isKnown ? 0 : MISSING_MS;
    const backoff = isKnown ? RETRY_BACKOFF : undefined;
    return { next: 'list', delayMs, backoff, isFailure: true, cause };
  }
  // What the API server refuses of a watch, other than for now, it would refuse again.
  const isRefused = cause === 'failed' && isClientError(failure?.status);
  const mustList = phase === 'listing' || failure?.isGone === true || isRefused;
  const hasLasted = phase === 'watching' && lastedMs >= LASTING_MS;
  return {
    next: mustList ? 'list' : 'watch',
    ...delayAfter(failure, hasLasted),
    isFailure: failure !== undefined && !(failure.isGone && failure.status !== undefined),
    cause,
  };
}

/** The API server says when to come back, or the delays grow, unless what ended was a watch that had lasted. */
function delayAfter(
  failure: ApiFailure | undefined,
  hasLasted: boolean,
): Pick<NextStep, 'delayMs' | 'backoff'> {
  const retryAfterMs = failure?.retryAfterMs;
  if (retryAfterMs !== undefined)
    return { delayMs: Math.max(retryAfterMs, RETRY_BACKOFF.initialMs), backoff: undefined };
  const isTemporary = failure?.status === undefined || failure.isGone;
  if (hasLasted && isTemporary) return { delayMs: 0, backoff: undefined };
  const isAway = failure !== undefined && failure.status === undefined && !failure.isGone;
  return { delayMs: 0, backoff: isAway ? AWAY_BACKOFF : RETRY_BACKOFF };
}

function causeOf(failure: ApiFailure | undefined, isOptional: boolean): NextStep['cause'] {
  switch (failure?.status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return isOptional ? 'missing' : 'failed';
    default:
      return 'failed';
  }
}

/** 429 and 408 are for now. */
function isClientError(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 429 && status !== 408;
}

/**
 * Whether a resource version is newer than another of the same kind. They are numbers of any length
 * (https://kep.k8s.io/5504); of others, each is taken as newer.
 */
export function isNewer(version: string, than: string): boolean {
  if (!isNumber(version) || !isNumber(than)) return version !== than;
  if (version.length !== than.length) return version.length > than.length;
  return version > than;
}

/** Whether a resource version is older than another of the same kind; of those that are no numbers, none is. */
export function isOlder(version: string, than: string): boolean {
  return isNumber(version) && isNumber(than) && isNewer(than, version);
}

function isNumber(version: string): boolean {
  return /^\d+$/.test(version);
}
