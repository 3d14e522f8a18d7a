import { StatusCode } from '../util/status-code';
import type { Failure, ResourceEvent } from './resource-state';
import type { XdsError } from './resource-watcher';
import type { DeletionHandling, ServerPolicy } from './server-policy';
import type { StreamStatus } from './transport';
import {
  absentError,
  deletedError,
  expiredError,
  rejectedError,
  serverError,
  timeoutError,
  unreachableError,
  type ResourceId,
} from './xds-errors';

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
  /** Of the response. */
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
  /** Of the response. */
  readonly version: string;
  /** Whether the server has said that it does not exist, instead of leaving it out of a complete response. */
  readonly isExplicit: boolean;
  readonly handling: DeletionHandling;
}

/** Creates the event of a resource that does not exist. */
export function deletionEvent(
  id: ResourceId,
  { version, isExplicit, handling }: Deletion,
  origin: EventOrigin,
): ResourceEvent<unknown> {
  const error = (isExplicit ? absentError : deletedError)(id, origin.server);
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

/**
 * Creates the event of a resource while no server can be reached.
 * @param causes One sentence per server that was tried.
 */
export function unreachableEvent(
  id: ResourceId,
  causes: readonly string[],
): ResourceEvent<unknown> {
  return { kind: 'unreachable', error: unreachableError(id, causes) };
}

function createFailure(
  status: Failure['status'],
  error: XdsError,
  version: string,
  { nowMs }: EventOrigin,
): Failure {
  return { status, error, version, atMs: nowMs, rejected: undefined };
}

/** Errors about the resource; any other code is about the server's present state (gRFC A88). */
function isDataError(code: number): boolean {
  return code === StatusCode.NOT_FOUND || code === StatusCode.PERMISSION_DENIED;
}
