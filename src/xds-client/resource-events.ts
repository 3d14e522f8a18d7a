import { assertNever } from '../util/assert-never';
import { StatusCode } from '../util/status-code';
import type { ResourceOutcome } from './ads/response-reader';
import type { Failure, ResourceEvent } from './resource-state';
import type { XdsError } from './resource-watcher';
import type { DeletionHandling, ServerPolicy } from './server-policy';
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

/** Who says something about a resource, and when. */
export interface EventOrigin {
  /** Names the server and the node in messages. */
  readonly server: string;
  readonly policy: ServerPolicy;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** A sign of life, which says nothing about the resource. */
type Heartbeat = Extract<ResourceOutcome, { readonly kind: 'renewed' | 'lost' }>;

/** What a response that has something to say about a resource means for it. */
export function outcomeEvent(
  id: ResourceId,
  outcome: Exclude<ResourceOutcome, Heartbeat>,
  version: string,
  origin: EventOrigin,
): ResourceEvent<unknown> {
  const { server, policy } = origin;
  switch (outcome.kind) {
    case 'accepted':
      return { kind: 'accepted', accepted: outcome.accepted, change: outcome.change };
    case 'rejected': {
      const error = rejectedError(id, server, outcome.violations);
      const failure = createFailure('NACKED', error, version, origin);
      const rejected = outcome.bytes;
      return {
        kind: 'failed',
        failure: { ...failure, rejected },
        dropValue: policy.dropOnDataError,
      };
    }
    case 'server-error': {
      const error = serverError(id, server, outcome.status);
      const failure = createFailure('RECEIVED_ERROR', error, version, origin);
      const dropValue = policy.dropOnDataError && isDataError(outcome.status.code);
      return { kind: 'failed', failure, dropValue };
    }
    default:
      return assertNever(outcome);
  }
}

/** That a resource is not there, as its server says or lets us conclude. */
export interface Deletion {
  /** Of the response. */
  readonly version: string;
  /** Whether the server has said that there is none, instead of leaving it out of a complete response. */
  readonly isExplicit: boolean;
  readonly handling: DeletionHandling;
}

/** What it means for a resource that it is not there. */
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
 * What it means for a resource that its time to live is over: the server has said beforehand that it must not
 * be used any longer, so no rule about deletions keeps it.
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

/** What it means for a resource that it did not come in time. */
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
 * What it means for a resource that no server can be reached.
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
