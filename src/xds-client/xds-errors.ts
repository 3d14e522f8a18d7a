import type { Bootstrap, ServerConfig } from '../bootstrap/bootstrap';
import { serverProtocol } from '../util/server-uri';
import { connectionAdvice } from '../util/connection-advice';
import { describeDuration } from '../util/duration';
import { quoteName, sanitizeText } from '../util/text';
import { withSince } from '../util/since';
import { StatusCode, statusName } from '../util/status-code';
import { joinBounded, MAX_LIST_LENGTH } from '../util/violations';
import { parseResourceName } from './resource-name';
import type { WatchError } from './resource-watcher';
import type { StreamStatus } from './transport';

// Every text names its resource and its server, because it may be all that the status of a failed call has.

/** The resource of a message. */
export interface ResourceId {
  readonly typeName: string;
  readonly name: string;
}

/** Names a server and the node; a file is named by its URI alone. */
export function describeServer({ serverUri }: ServerConfig, nodeId: string): string {
  const isFile = serverProtocol(serverUri) === 'file';
  return sanitizeText(isFile ? serverUri : `management server ${serverUri} (node "${nodeId}")`);
}

/** Names the servers of a resource, of which those after the first are for fallback, and the node. */
export function describeServers(
  bootstrap: Pick<Bootstrap, 'authorities' | 'node' | 'servers'>,
  name: string,
  typeUrl: string,
): string {
  const parsed = parseResourceName(name, typeUrl);
  const authority = parsed.ok ? bootstrap.authorities.get(parsed.value.authority ?? '') : undefined;
  const [first, ...others] = (authority ?? bootstrap).servers;
  const { id } = bootstrap.node;
  if (first === undefined) return sanitizeText(`xDS node "${id}"`);
  const fallback = others.map(({ serverUri }) => serverUri).join(', ');
  const server = describeServer(first, id);
  return fallback === '' ? server : sanitizeText(`${server}, else ${fallback}`);
}

/** Names a resource. */
export function describeResource({ typeName, name }: ResourceId): string {
  return sanitizeText(`${typeName} ${quoteName(name)}`);
}

/** Describes how many pending resources a list leaves out. */
export function describePending(count: number): string {
  return count === 1
    ? '1 more resource is also pending'
    : `${count} more resources are also pending`;
}

/** Whether the incremental variant of the protocol is used with a server. */
export type DeltaMode =
  | 'off'
  | 'on'
  /** It is tried, and state of the world is used with a server that does not implement it, and with istiod. */
  | 'auto';

/**
 * Describes why a stream ended before a response, to follow the name of the server.
 * @param delta The variant that the bootstrap chooses. Default: both were tried.
 */
export function describeStreamEnd(status: StreamStatus, delta: DeltaMode = 'auto'): string {
  const { code } = status;
  const details = sanitizeText(status.details);
  if (code === StatusCode.UNAVAILABLE && status.hasAnswered !== true) {
    return `cannot be reached: ${details}${connectionAdvice(details)}`;
  }
  if (code === StatusCode.OK) return 'closed the stream without answering: see its log';
  const advice = code === StatusCode.UNIMPLEMENTED ? checkVariant(delta) : adviceOn(status);
  return `ended the stream with ${statusName(code)}: ${details}: ${advice ?? 'see its log'}`;
}

const IDENTITY = 'check node and channel_creds of the bootstrap';

/** What to check when a stream ends with a status. */
function adviceOn({ code, details }: StreamStatus): string | undefined {
  const { UNAUTHENTICATED, PERMISSION_DENIED, RESOURCE_EXHAUSTED } = StatusCode;
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED) return IDENTITY;
  // The text of grpc-js, which ends a stream with a message beyond the limit.
  const isTooLarge = code === RESOURCE_EXHAUSTED && /message larger than max/i.test(details);
  return isTooLarge ? 'raise register({ limits: { maxMessageBytes } }), or send less' : undefined;
}

/** What to check when a server does not have the method of a variant of the protocol. */
function checkVariant(delta: DeltaMode): string {
  const check = 'check that server_uri is an xDS management server';
  if (delta === 'auto') return check;
  return delta === 'on'
    ? `${check}, and remove grpc_xds_delta from server_features if it does not serve the incremental variant`
    : `${check}, and add grpc_xds_delta to server_features if it only serves the incremental variant`;
}

/** What to check when a server does not send a resource. */
const CHECK_NAME = 'check the name, and that the server has it for this node';

/** What to check when a server does not answer at all: those that look up the node ignore an unknown one. */
const CHECK_NODE = 'is node.id known to the server?';

function createError(kind: WatchError['kind'], id: ResourceId, cause: string): WatchError {
  const resource = describeResource(id);
  return { kind, message: `${resource}: ${cause}`, resource, cause };
}

/** Returns an error with a further sentence. */
export function withMore(error: WatchError, sentence: string): WatchError {
  const { message, cause = message } = error;
  return { ...error, message: `${message}; ${sentence}`, cause: `${cause}; ${sentence}` };
}

/** Returns the message of an error without since when. */
export function withoutTime({ message, resource, cause }: WatchError): string {
  return resource === undefined || cause === undefined ? message : `${resource}: ${cause}`;
}

/** The error of a name that is not usable. */
export function badNameError(id: ResourceId, reason: string, nodeId: string): WatchError {
  const cause = `not a usable resource name: ${sanitizeText(reason)} (node "${nodeId}")`;
  return createError('bad-name', id, cause);
}

/** Why a server cannot be used. */
export interface ServerFailure {
  /** A sentence that names the server. */
  readonly text: string;
  /** When it began, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** Describes why a server cannot be used, and since when. */
export function describeFailure({ text, sinceMs }: ServerFailure): string {
  return withSince(text, sinceMs);
}

/** The error of a resource while no server can be reached. @param failures Of at least one server, in order of priority. */
export function unreachableError(id: ResourceId, failures: readonly ServerFailure[]): WatchError {
  const error = createError('unreachable', id, failures.map(describeFailure).join('; '));
  const cause = failures.map(({ text }) => text).join('; ');
  const sinceMs = failures.reduce((latest, failure) => Math.max(latest, failure.sinceMs), 0);
  return { ...error, cause, sinceMs };
}

/** The error of a resource whose server has not answered after it could not be reached. */
export function silentError(id: ResourceId, server: string): WatchError {
  return createError('unreachable', id, `${server} has not answered`);
}

/** The error of a resource that is not valid. */
export function rejectedError(
  id: ResourceId,
  server: string,
  violations: readonly string[],
): WatchError {
  const joined = joinBounded(violations);
  const error = createError('invalid', id, `update from ${server} rejected (NACK): ${joined}`);
  return { ...error, violations: joined };
}

const ADD_IT = 'add it there, or change what refers to it';

/** The error of a resource that a complete response does not have. */
export function deletedError(id: ResourceId, server: string): WatchError {
  return createError('does-not-exist', id, `no such resource: ${server} has removed it: ${ADD_IT}`);
}

/** The error of a resource that a file, or a directory of files, does not contain. */
export function notInFileError(id: ResourceId, file: string): WatchError {
  const cause = `no such resource: ${file} does not contain it: ${ADD_IT}`;
  return createError('does-not-exist', id, cause);
}

/** The error of a resource that does not exist, according to its server. */
export function absentError(id: ResourceId, server: string): WatchError {
  const cause = `no such resource: ${server} does not have it: ${CHECK_NAME}`;
  return createError('does-not-exist', id, cause);
}

/** The error of a resource that its server has not renewed in time. */
export function expiredError(id: ResourceId, server: string, ttlMs: number): WatchError {
  const ttl = describeDuration(ttlMs);
  const cause = `no such resource: ${server} has not renewed it within its time to live of ${ttl}: see its log`;
  return createError('does-not-exist', id, cause);
}

/** The circumstances of a resource that was not received in time. */
export interface ResourceTimeout {
  readonly timeoutMs: number;
  /** Whether the resource may exist nevertheless (gRFC A88). */
  readonly isTransient: boolean;
  /** Whether the server has answered at all since it last failed. */
  readonly serverAnswered: boolean;
}

/** The error of a resource that was not received in time. */
export function timeoutError(id: ResourceId, server: string, timeout: ResourceTimeout): WatchError {
  const conclusion = timeout.isTransient ? 'timed out' : 'no such resource';
  const fact = `${server} did not send it within ${describeDuration(timeout.timeoutMs)}`;
  const hint = timeout.serverAnswered
    ? `: ${CHECK_NAME}`
    : ` and has not answered this node at all: ${CHECK_NODE}`;
  const kind = timeout.isTransient ? 'timeout' : 'does-not-exist';
  const error = createError(kind, id, `${conclusion}: ${fact}${hint}`);
  return timeout.serverAnswered ? error : { ...error, silentServer: server };
}

/** The error of a resource that its server cannot supply (gRFC A88). */
export function serverError(id: ResourceId, server: string, status: StreamStatus): WatchError {
  const kind = status.code === StatusCode.NOT_FOUND ? 'does-not-exist' : 'server-error';
  const details = sanitizeText(status.details, MAX_LIST_LENGTH);
  const error = createError(kind, id, `${server} reports ${statusName(status.code)}: ${details}`);
  return { ...error, status: { code: status.code, details: status.details } };
}

/** Describes that a server has not sent a resource yet, to follow the name of the server. @param hasAnswered Whether the server has answered at all. */
export function describeSilence(hasAnswered: boolean): string {
  return hasAnswered
    ? `has not sent it: ${CHECK_NAME}`
    : `has not answered this node yet: ${CHECK_NODE}`;
}
