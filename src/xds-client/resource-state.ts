import { assertNever } from '../util/errors';
import { withSince } from '../util/since';
import type { ResourceStatus } from './client-snapshot';
import { BYTES_PER_FIELD } from './limits';
import type { WatchError } from './resource-watcher';
import type { DeletionHandling, ServerPolicy } from './server-policy';
import { StatusCode } from '../util/status-code';
import type { StreamStatus } from './transport';
import {
  absentError,
  deletedError,
  expiredError,
  notInFileError,
  rejectedError,
  serverError,
  timeoutError,
  type ResourceId,
} from './xds-errors';

/** What a cached resource takes. */
export interface CachedSize {
  /** Bytes that its encoded value keeps in memory. */
  readonly bytes: number;
  /** Fields that its value may be made of: those that were read of it, and those of the version from which the rest is. */
  readonly fields: number;
  /** Fields that were read when it was last decoded as a whole. */
  readonly wholeFields: number;
}

/** Returns the bytes that an accepted resource counts for: its encoded value, its objects and its version. */
export function cachedBytes({ size, version }: Accepted<unknown>): number {
  return size === undefined ? 0 : size.bytes + size.fields * BYTES_PER_FIELD + version.length;
}

/** A resource as it was last accepted. */
export interface Accepted<T> {
  readonly value: T;
  /** What the decoder keeps of this version to compare the next one with. Default: nothing. */
  readonly record?: object | undefined;
  /** The encoded value, to compare the next update with. */
  readonly bytes: Uint8Array;
  /** The version of the latest response with these bytes. Watchers are not notified of another version of a value. */
  version: string;
  /** `ServerConfig.key` of the server it came from: the same bytes may mean something else from another. */
  readonly serverKey: string;
  /** Milliseconds since the epoch at which these bytes were first accepted. */
  readonly updatedAtMs: number;
  /** How many elements count against the limit of its type. Default: none. */
  readonly elements?: number;
  /** What it takes. Default: nothing. */
  readonly size?: CachedSize;
}

/** A failure of one resource. */
export interface Failure {
  readonly status: Exclude<ResourceStatus, 'REQUESTED' | 'ACKED'>;
  readonly error: WatchError;
  /** The version that was rejected; empty if the failure is not about a version. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** When the first failure was since the resource was last accepted, or since it was requested; as `atMs`. */
  readonly sinceMs: number;
  /** The bytes that were rejected; `undefined` if the failure is not about any. */
  readonly rejected: Uint8Array | undefined;
  /** Whether the time to live is over, because the server has not renewed it. Default: no. */
  readonly isExpiry?: boolean;
}

/** The state of a resource at one server. */
export type ResourceState<T> =
  /** No response has been about it yet. */
  | { readonly kind: 'requested'; readonly sinceMs: number }
  /** There is no value, for a known reason: it was NACKed, has timed out, does not exist … */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** There is a value. */
  | {
      readonly kind: 'accepted';
      readonly accepted: Accepted<T>;
      /** The failure since, while the value stays in use. */
      readonly failure: Failure | undefined;
      /** The server has removed the resource, which is ignored (gRFC A53). */
      readonly deletionIgnored: boolean;
    };

/** A server sent a resource and it is valid. The same value as before means that nothing changed. */
export interface AcceptedEvent<T> {
  readonly kind: 'accepted';
  readonly accepted: Accepted<T>;
  /** The version that it has from now on. Default: the one it has. */
  readonly version?: string;
  /** Milliseconds after which the value expires unless it is renewed. Default: never. */
  readonly ttlMs?: number | undefined;
}

/** An event of a resource. */
export type ResourceEvent<T> =
  | AcceptedEvent<T>
  /** A heartbeat: the time to live of the value begins anew. Without one, nothing changes. */
  | { readonly kind: 'renewed'; readonly ttlMs: number | undefined }
  /** A server sent something invalid, or said that it cannot supply the resource. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly dropValue: boolean }
  /** A complete response does not have it, or the server has said that it does not exist. */
  | {
      readonly kind: 'deleted';
      readonly failure: Failure;
      readonly handling: DeletionHandling;
      readonly isExplicit: boolean;
    }
  /** It was requested and not received in time. */
  | { readonly kind: 'timed-out'; readonly failure: Failure };

/** Returns the state of a resource after an event: the table of gRFCs A57 and A88. */
export function nextResourceState<T>(
  state: ResourceState<T>,
  event: ResourceEvent<T>,
): ResourceState<T> {
  if (event.kind === 'accepted') return onAccepted(state, event.accepted);
  return withBeginning(state, stateAfter(state, event));
}

/** Makes the failure of a state begin with the one before it, and its error say since when. */
function withBeginning<T>(before: ResourceState<T>, state: ResourceState<T>): ResourceState<T> {
  const failure = failureOf(state);
  if (state.kind === 'requested' || failure === undefined) return state;
  const known = failureOf(before);
  if (failure === known) return state;
  const sinceMs = known?.sinceMs ?? failure.sinceMs;
  const message = withSince(failure.error.message, sinceMs);
  const error = { ...failure.error, message, sinceMs };
  return { ...state, failure: { ...failure, sinceMs, error } };
}

function stateAfter<T>(
  state: ResourceState<T>,
  event: Exclude<ResourceEvent<T>, { readonly kind: 'accepted' }>,
): ResourceState<T> {
  switch (event.kind) {
    case 'renewed':
      return state;
    case 'failed':
      return onFailed(state, event.failure, event.dropValue);
    case 'deleted':
      return onDeleted(state, event);
    case 'timed-out':
      return state.kind === 'accepted' ? state : { kind: 'failed', failure: event.failure };
    default:
      return assertNever(event);
  }
}

/** The same value as before, with nothing against it, is the same state: a response may repeat thousands. */
function onAccepted<T>(before: ResourceState<T>, accepted: Accepted<T>): ResourceState<T> {
  if (before.kind === 'accepted' && before.accepted === accepted) {
    if (before.failure === undefined && !before.deletionIgnored) return before;
  }
  return { kind: 'accepted', accepted, failure: undefined, deletionIgnored: false };
}

function onFailed<T>(
  before: ResourceState<T>,
  failure: Failure,
  dropValue: boolean,
): ResourceState<T> {
  if (before.kind === 'accepted' && !dropValue) return { ...before, failure };
  return { kind: 'failed', failure };
}

/**
 * A resource that was never received is not deleted by being left out: the response may have been sent before the
 * request arrived, and the timer decides (gRFC A57). An explicit removal counts at once.
 */
function onDeleted<T>(
  before: ResourceState<T>,
  { failure, handling, isExplicit }: Extract<ResourceEvent<T>, { readonly kind: 'deleted' }>,
): ResourceState<T> {
  switch (before.kind) {
    case 'requested':
      return isExplicit ? { kind: 'failed', failure } : before;
    case 'failed': {
      const { status, error } = before.failure;
      // Silence proves less than an answer.
      if (error.silentServer !== undefined) return { kind: 'failed', failure };
      const isKnownMissing = status === 'DOES_NOT_EXIST' || (status === 'TIMEOUT' && !isExplicit);
      return isKnownMissing ? before : { kind: 'failed', failure };
    }
    case 'accepted':
      if (handling === 'ignore') return { ...before, deletionIgnored: true };
      return onFailed(before, failure, handling === 'drop');
    default:
      return assertNever(before);
  }
}

/** Returns why there is no value, or what has failed since the value was accepted. */
export function failureOf(state: ResourceState<unknown>): Failure | undefined {
  return state.kind === 'requested' ? undefined : state.failure;
}

/** The server that an event is from, and the time. */
export interface EventOrigin {
  /** Names the server and the node in messages. */
  readonly server: string;
  readonly policy: ServerPolicy;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** A resource that is not valid. */
export interface Rejection {
  readonly violations: readonly string[];
  /** `undefined` if the resource could not be taken out of the response. */
  readonly bytes: Uint8Array | undefined;
  /** The version of the response. */
  readonly version: string;
}

/** Creates the event of a resource that is not valid. */
export function rejectedEvent(
  id: ResourceId,
  { violations, bytes, version }: Rejection,
  origin: EventOrigin,
): ResourceEvent<unknown> {
  const error = rejectedError(id, origin.server, violations);
  const failure = { ...createFailure('NACKED', error, version, origin), rejected: bytes };
  return { kind: 'failed', failure, dropValue: origin.policy.dropOnDataError };
}

/** Creates the event of a resource that its server cannot supply (gRFC A88). */
export function serverErrorEvent(
  id: ResourceId,
  status: StreamStatus,
  version: string,
  origin: EventOrigin,
): ResourceEvent<unknown> {
  const error = serverError(id, origin.server, status);
  const failure = createFailure('RECEIVED_ERROR', error, version, origin);
  const dropValue = origin.policy.dropOnDataError && isDataError(status.code);
  return { kind: 'failed', failure, dropValue };
}

/** The removal of a resource. */
export interface Deletion {
  /** The version of the response. */
  readonly version: string;
  /** Whether the server has said that it does not exist, instead of leaving it out of a complete response. */
  readonly isExplicit: boolean;
  /** Whether the server has ever sent it: what never was is not removed. */
  readonly wasReceived: boolean;
  readonly handling: DeletionHandling;
}

/** Whether a server has sent a resource, be it valid or not. */
export function wasReceived(state: ResourceState<unknown>): boolean {
  return state.kind === 'accepted' || failureOf(state)?.status === 'NACKED';
}

/** Creates the event of a resource that does not exist. */
export function deletionEvent(
  id: ResourceId,
  { version, isExplicit, wasReceived: isRemoval, handling }: Deletion,
  origin: EventOrigin,
): ResourceEvent<unknown> {
  const absence = origin.policy.isFile ? notInFileError : absentError;
  const describe = isRemoval && !origin.policy.isFile ? deletedError : absence;
  const error = describe(id, origin.server);
  const failure = createFailure('DOES_NOT_EXIST', error, version, origin);
  return { kind: 'deleted', failure, handling, isExplicit };
}

/**
 * Creates the event of a resource whose time to live is over. The server has said beforehand that it must not be used
 * any longer, so no rule about deletions keeps it.
 */
export function expiryEvent(
  id: ResourceId,
  ttlMs: number,
  origin: EventOrigin,
): ResourceEvent<unknown> {
  const error = expiredError(id, origin.server, ttlMs);
  const failure = createFailure('DOES_NOT_EXIST', error, '', origin);
  return { kind: 'failed', failure: { ...failure, isExpiry: true }, dropValue: true };
}

/** Creates the event of a resource that was not received in time. */
export function timeoutEvent(
  id: ResourceId,
  serverAnswered: boolean,
  origin: EventOrigin,
): ResourceEvent<unknown> {
  const { resourceTimeoutMs: timeoutMs, timeoutIsTransient: isTransient } = origin.policy;
  const error = timeoutError(id, origin.server, { timeoutMs, isTransient, serverAnswered });
  const status = isTransient ? 'TIMEOUT' : 'DOES_NOT_EXIST';
  return { kind: 'timed-out', failure: createFailure(status, error, '', origin) };
}

function createFailure(
  status: Failure['status'],
  error: WatchError,
  version: string,
  { nowMs }: EventOrigin,
): Failure {
  return { status, error, version, atMs: nowMs, sinceMs: nowMs, rejected: undefined };
}

/** Errors about the resource; any other code is about the server's present state (gRFC A88). */
function isDataError(code: number): boolean {
  return code === StatusCode.NOT_FOUND || code === StatusCode.PERMISSION_DENIED;
}
