import type { ServerConfig } from '../bootstrap/bootstrap';
import { sanitizeText } from '../util/sanitize-text';
import { StatusCode, statusName } from '../util/status-code';
import type { XdsError } from './resource-watcher';
import type { StreamStatus } from './transport';

// Every text names what it is about and whom it comes from, because it ends up, alone, in a failed RPC.

/**
 * No list of violations grows beyond this many characters: a server repeats its mistakes with every version,
 * and each time the list goes over the wire, into the log and into the status of failed RPCs.
 */
const MAX_LIST_LENGTH = 8192;

/** Of a longer name, so many characters are shown. */
export const MAX_SHOWN_NAME = 512;

const SEPARATOR = '; ';

/** What a message is about. */
export interface ResourceId {
  readonly typeName: string;
  readonly name: string;
}

/** Names a server and who we are to it. */
export function describeServer(server: ServerConfig, nodeId: string): string {
  return `management server ${server.serverUri} (node "${nodeId}")`;
}

/** Names a resource. */
export function describeResource({ typeName, name }: ResourceId): string {
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
  return `${typeName} "${sanitizeText(shown)}"`;
}

/** The number of pending resources that a list leaves out. */
export function describePending(count: number): string {
  return count === 1
    ? '1 more resource is also pending'
    : `${count} more resources are also pending`;
}

/** Why a stream that got no answer ended, to follow the name of the server. */
export function describeStreamEnd(status: StreamStatus): string {
  const { code } = status;
  const details = sanitizeText(status.details);
  if (code === StatusCode.UNAVAILABLE) return `cannot be reached: ${details}`;
  if (code === StatusCode.OK) return 'closed the ADS stream without answering';
  return `ended the ADS stream with ${statusName(code)}: ${details}`;
}

/** A name that leads nowhere. */
export function badNameError(id: ResourceId, reason: string, nodeId: string): XdsError {
  return {
    kind: 'bad-name',
    message: `${describeResource(id)}: not a usable resource name: ${sanitizeText(reason)} (node "${nodeId}")`,
  };
}

/** @param causes One sentence per server, in order of priority. */
export function unreachableError(id: ResourceId, causes: readonly string[]): XdsError {
  return { kind: 'unreachable', message: `${describeResource(id)}: ${causes.join('; ')}` };
}

/** A resource that is not valid. */
export function rejectedError(
  id: ResourceId,
  server: string,
  violations: readonly string[],
): XdsError {
  return {
    kind: 'invalid',
    message: `${describeResource(id)}: update from ${server} rejected (NACK): ${joinBounded(violations)}`,
  };
}

/** A resource that a complete response left out. */
export function deletedError(id: ResourceId, server: string): XdsError {
  return {
    kind: 'does-not-exist',
    message: `${describeResource(id)}: no such resource: ${server} has removed it`,
  };
}

/** A resource of which the server says that there is none. */
export function absentError(id: ResourceId, server: string): XdsError {
  return {
    kind: 'does-not-exist',
    message: `${describeResource(id)}: no such resource: ${server} does not have it`,
  };
}

/** A resource that its server has not renewed in time. */
export function expiredError(id: ResourceId, server: string, ttlMs: number): XdsError {
  return {
    kind: 'does-not-exist',
    message: `${describeResource(id)}: no such resource: ${server} has not renewed it within its time to live of ${ttlMs / 1000} s`,
  };
}

/** What is to be said of a resource that did not come in time. */
export interface ResourceTimeout {
  readonly timeoutMs: number;
  /** Whether the server may still be at it (gRFC A88). */
  readonly isTransient: boolean;
  /** Whether the server has answered anything at all on this stream. */
  readonly serverAnswered: boolean;
}

/** A resource that did not come in time. */
export function timeoutError(id: ResourceId, server: string, timeout: ResourceTimeout): XdsError {
  const conclusion = timeout.isTransient ? 'timed out' : 'no such resource';
  const fact = `${server} did not send it within ${timeout.timeoutMs / 1000} s`;
  // Servers that look the node up do not answer one they do not know, they stay silent.
  const hint = timeout.serverAnswered
    ? ''
    : ' and has not answered this node at all: is node.id known to the server?';
  return {
    kind: timeout.isTransient ? 'timeout' : 'does-not-exist',
    message: `${describeResource(id)}: ${conclusion}: ${fact}${hint}`,
    ...(!timeout.serverAnswered && { silentServer: server }),
  };
}

/** A server's own word that it cannot supply a resource (gRFC A88). */
export function serverError(id: ResourceId, server: string, status: StreamStatus): XdsError {
  return {
    kind: status.code === StatusCode.NOT_FOUND ? 'does-not-exist' : 'server-error',
    message: `${describeResource(id)}: ${server} reports ${statusName(status.code)}: ${sanitizeText(status.details)}`,
  };
}

/** Joins with `; `, sanitized, and says how many were left out when all would be too long. */
export function joinBounded(texts: readonly string[]): string {
  let length = 0;
  let count = 0;
  for (const text of texts) {
    length += text.length + SEPARATOR.length;
    if (count > 0 && length > MAX_LIST_LENGTH) break;
    count++;
  }
  const joined = sanitizeText(texts.slice(0, count).join(SEPARATOR));
  const shown = joined.length > MAX_LIST_LENGTH ? `${joined.slice(0, MAX_LIST_LENGTH)}…` : joined;
  const left = texts.length - count;
  return left === 0 ? shown : `${shown}${SEPARATOR}and ${left} more`;
}

/** Writes a duration in seconds, such as `1.5 s`. */
export function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
