import type { ReadLimit } from '../util/read-budget';

// What clients send is bounded here, by stream: those of a control plane need not be authenticated.

/** Bytes of one request. */
export const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
/**
 * Fields of one discovery request, of unknown ones too: names, and initial versions with three each. They are read in one turn
 * of the event loop.
 */
export const DISCOVERY_LIMIT: ReadLimit = { maxFields: 200_000, scope: 'request' };
/** Fields of one request with load reports, of which the last of each stream is kept. */
export const LOAD_LIMIT: ReadLimit = { maxFields: 200_000, scope: 'request' };
/** Open streams of all discovery services, and of the load reporting service. */
export const MAX_STREAMS = 10_000;
/** Open streams of one connection: a process has two for each node and management server. */
export const MAX_STREAMS_OF_CONNECTION = 2000;
/** Types that one stream subscribes to. */
export const MAX_TYPES = 100;
/** Names of one type that one stream subscribes to. */
const MAX_NAMES = 100_000;
/** Characters of all of them. */
const MAX_NAME_CHARACTERS = 8 * 1024 * 1024;
/** Bytes of the node of one stream, which lasts as long as the stream. */
export const MAX_NODE_BYTES = 256 * 1024;
/** Characters of a rejection that are kept until the next answer. */
export const MAX_REJECTION_CHARACTERS = 64 * 1024;
/** Responses of one type whose acknowledgement is still recorded. */
export const MAX_UNACKNOWLEDGED = 1000;
/**
 * Bytes of the resources in responses that clients have not read, of all streams together. Beyond that, streams are reset whose
 * client has read none of its responses for so many milliseconds: a client that reads is not late by more than a response.
 */
export const MAX_UNREAD_BYTES = 256 * 1024 * 1024;
export const MAX_UNREAD_MS = 1000;
/** Open connections of a server. */
export const MAX_CONNECTIONS = 20_000;
/** Calls whose clients are being authenticated, and how long that may take. */
export const MAX_PENDING_AUTHENTICATIONS = 1000;
export const AUTHENTICATION_TIMEOUT_MS = 10_000;
/**
 * Connections without an authenticated client, of one address and of all, if clients are authenticated at all, and the time after
 * which one more may be there.
 */
export const MAX_UNAUTHENTICATED_OF_ADDRESS = 100;
export const UNAUTHENTICATED_OF_ADDRESS_MS = 50;
export const MAX_UNAUTHENTICATED = 1000;
export const UNAUTHENTICATED_MS = 10;
/** Addresses whose connections are counted. */
export const MAX_ADMISSION_ADDRESSES = 10_000;
/** How long the handshake of TLS may take. */
export const MAX_HANDSHAKE_MS = 10_000;
/** How long a connection without a stream lasts, also one that has not sent a whole preface. */
export const MAX_IDLE_MS = 60_000;
/** Clusters, localities, metrics and drop categories in the totals of load reports. */
export const MAX_LOAD_ENTRIES = 500_000;
/** The same of one cluster of one node. */
export const MAX_LOAD_ENTRIES_OF_CLUSTER = 10_000;

/** Returns why names cannot all be subscribed to; `undefined` if they can. */
export function findNamesProblem(count: number, characters: number): string | undefined {
  if (count > MAX_NAMES) return `more than ${MAX_NAMES} names of one type on one stream`;
  if (characters > MAX_NAME_CHARACTERS)
    return `more than ${MAX_NAME_CHARACTERS} characters in the names of one type on one stream`;
  return undefined;
}
