// # All clients of a relay together

// Limits on what these clients can make a relay request and keep. src/util/limits.ts has the limits of each stream. See
// docs/limits.md.

/**
 * Names that a relay requests for all its clients.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_NAMES = 500_000;
/**
 * Client nodes with their own streams to the management servers, unless `maxNodes` is set.
 * @beyond A node without clients is dropped; if there is none, RESOURCE_EXHAUSTED.
 */
export const DEFAULT_MAX_NODES = 100;
/** How long the streams of a node are kept after its last client, in milliseconds: clients come back. */
export const NODE_LINGER_MS = 60_000;
/**
 * Types of these names. A type that was requested once counts until the relay ends, because a response of it may be on its way.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_TYPES = 1000;
/** How long the resource of a name is kept that no client subscribes to any more, in milliseconds: clients come back. */
export const LINGER_MS = 60_000;
/** Names of which resources are kept so. The oldest give way. */
export const MAX_LINGERING = 10_000;
/** The time in each turn of the event loop in which names of clients are requested and dropped, in milliseconds. */
export const REFERENCE_SLICE_MS = 4;
/** How long requests are held so that names that are requested in several turns are in one of them, in milliseconds. */
export const MAX_HOLD_MS = 500;
/** How long after a response that changes nothing the rejections of clients are repeated, in milliseconds. */
export const REPEAT_MS = 1000;
/** Rejections of clients that are remembered, so that each is handed on once. */
export const MAX_REJECTIONS = 1000;
/**
 * Characters of a rejection that a relay passes on.
 * @beyond They are truncated.
 */
export const MAX_REJECTION_LENGTH = 4096;
/**
 * Characters of a client's node, user agent or version in reports.
 * @beyond They are truncated.
 */
export const MAX_OWN_TEXT_LENGTH = 1024;
/**
 * Localities and drop categories of one cluster between two load reports.
 * @beyond They are left out, which is logged.
 */
export const MAX_LOAD_ENTRIES_OF_CLUSTER = 10_000;
/** Characters of the failure of a management server in the status of a stream, which is a header of HTTP/2. */
export const MAX_CAUSE_LENGTH = 2048;
/**
 * Relays in the path of a stream.
 * @beyond The last ones are sent.
 */
export const MAX_PATH_RELAYS = 16;
/**
 * Characters of the address of a relay in a path.
 * @beyond They are truncated.
 */
export const MAX_RELAY_ADDRESS_LENGTH = 200;
/**
 * Bytes of the header with a path.
 * @beyond It is ignored.
 */
export const MAX_PATH_BYTES = 8192;
/** How long a relay that stops waits for load reports that its clients have sent already, in milliseconds. */
export const LAST_REPORTS_MS = 200;
