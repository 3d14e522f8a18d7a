import type { BackoffOptions } from '../util/backoff';
import type { ElementLimit } from './resource-type';

// How fast responses are read and answered, and what is kept of them. What one may contain is in src/util/limits.ts.

/** Milliseconds of the longest time to live, 24.8 days: what timers know. A longer one is none. */
export const MAX_TTL_MS = 2 ** 31 - 1;

/** Characters of the versions, of all resources of a type, that a stream begins with: requests of megabytes are refused. */
export const MAX_INITIAL_VERSIONS_LENGTH = 2 ** 20;

/** Types that a server sends without a request and that are logged, one line each; responses of further ones are dropped without a line. */
export const MAX_LOGGED_UNREQUESTED = 16;

/** Resources that are logged as accepted after one rejection: it may have thousands. */
export const MAX_LOGGED_RECOVERIES = 16;

/**
 * How far apart the rejections of a type are that come in a row, for the same reason. The first one is sent at once; those after it
 * are held back, because the server may have answered it with what was rejected.
 */
export const NACK_BACKOFF: BackoffOptions = {
  initialMs: 100,
  multiplier: 2,
  maxMs: 5000,
  jitter: 0.2,
};

/**
 * How often a name is requested again at once because responses that are rejected may have crossed its request. After
 * that it is requested again with each rejection. See docs/decisions/ads-streams.md.
 */
export const MAX_NAME_REPEATS = 3;

/**
 * How long nothing is read from a server that sends what is rejected without waiting for the answer: this many times
 * as long as reading took. Longer pauses would leave what it sends in the end waiting behind everything before it.
 */
export const READ_PAUSE_FACTOR = 4;

/** Milliseconds that such a pause lasts at least: timers know no less. */
export const MIN_READ_PAUSE_MS = 1;

/** Milliseconds that it lasts at most. */
export const MAX_READ_PAUSE_MS = 1000;

/** How long a large response is read without a break; see `SLICE_MS` in src/util/time-slices.ts. */
export const READ_SLICE_MS = 0.25;

/** Bytes of resources in a response that are read before there are breaks between resources. */
export const LARGE_RESPONSE_BYTES = 2 ** 14;

/** Resources of a response that are read before there are breaks between them, however small they are. */
export const LARGE_RESPONSE_RESOURCES = 32;

/** Milliseconds of configuration that may be spent at once, such as at the start, before it is limited to its share. */
export const TIME_BURST_MS = 2000;

/**
 * Milliseconds that each response counts for besides the time it takes here: the transport takes some of it, which
 * is not measured. At a share of a quarter, at most 80,000 responses at once, and then 10,000 a second.
 */
export const MESSAGE_COST_MS = 0.025;

/** What time counts for: garbage collection and the sending of answers take as much again as this adds, on other threads too. */
export const BESIDE_FACTOR = 1.6;

/** Bytes of a response that count for a millisecond more: the transport copies each of them several times. */
export const BYTES_PER_MS = 500_000;

/** Milliseconds for which small responses are read one after the other before other work has its turn. */
export const READ_TURN_MS = 1;

/**
 * Milliseconds beyond the burst that are made up for: at a share of a quarter, 1 s without reading. However much one update has
 * taken, a good change that follows is in use soon.
 */
export const MAX_TIME_DEBT_MS = 250;

/** Share of the time that configuration may take then, in percent, unless the application sets another one. */
export const DEFAULT_TIME_PERCENT = 25;

/**
 * Bytes that each field of a cached resource counts for besides those of the resource: about what the objects take that
 * are made of a field, as measured for endpoints, routes and texts. Long texts count as several fields.
 */
export const BYTES_PER_FIELD = 64;

/** Bytes that the cached resources of the process may take, unless the application sets another limit. */
const DEFAULT_CACHED_BYTES = 256 * 2 ** 20;

/** Bytes of rejected versions that are kept for diagnostics. */
export const REJECTED_BYTES_LIMIT: ElementLimit = {
  name: 'rejectedBytes',
  noun: 'bytes',
  max: 2 ** 24,
};

/** Milliseconds that a server of load reports may take to receive the last one before the connection is closed. */
export const DRAIN_TIMEOUT_MS = 1000;

/** Bytes of one rejected version that is kept for diagnostics. */
export const MAX_REJECTED_BYTES = 2 ** 20;

/** Returns the limit on what the cached resources of the process take. */
export function cacheLimit(maxCachedBytes = DEFAULT_CACHED_BYTES): ElementLimit {
  return { name: 'maxCachedBytes', noun: 'bytes of memory', max: maxCachedBytes };
}
