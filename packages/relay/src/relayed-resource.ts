import { createHash } from 'node:crypto';
import type { ResourceError, ResourceKind, SnapshotResource } from 'grpc-xds/control-plane';
import {
  createResource,
  createResourceError,
  type WatchError,
  type OpaqueResource,
} from 'grpc-xds/internal';
import { StatusCode } from '../../../src/util/status-code';

/** What is known of a resource at the management servers. */
export interface UpstreamState {
  /** The last one that was received; `undefined` if there is none. */
  readonly value: OpaqueResource | undefined;
  /** What is wrong with it, or why there is none; `undefined` if nothing is. */
  readonly error: WatchError | undefined;
}

/** What clients receive for a name. */
export type RelayedResource =
  | { readonly kind: 'pending' }
  | { readonly kind: 'resource'; readonly resource: SnapshotResource }
  | { readonly kind: 'error'; readonly error: ResourceError }
  /** There is no such resource. */
  | { readonly kind: 'absent'; readonly digest: string };

export const PENDING: RelayedResource = { kind: 'pending' };

/**
 * Returns what clients receive: what the server has said last. That it cannot be reached, or has not answered in time without
 * a conclusion (gRFC A88), is no answer of it: the last resource is served then, and without one, clients wait as they would for
 * the server.
 * @param before What they received before.
 */
export function toRelayed(
  { value, error }: UpstreamState,
  { kind, name }: { readonly kind: ResourceKind; readonly name: string },
  before: RelayedResource,
): RelayedResource {
  const failure = error && failureOf(error, value !== undefined);
  if (failure === 'absent') return { kind: 'absent', digest: digestOfAbsence(name) };
  if (failure !== undefined) {
    return { kind: 'error', error: createResourceError({ kind, name, ...failure }) };
  }
  if (value === undefined) return PENDING;
  const previous = before.kind === 'resource' ? before.resource : undefined;
  const resource = createResource(kind, { name, value: value.bytes }, previous);
  return resource === previous ? before : { kind: 'resource', resource };
}

/** Returns the digest that this adds to the version of its type; 16 hexadecimal digits. */
export function digestOf(relayed: RelayedResource): string {
  switch (relayed.kind) {
    case 'pending':
      return '0';
    case 'resource':
      return relayed.resource.digest;
    case 'error':
      return relayed.error.digest;
    case 'absent':
      return relayed.digest;
  }
}

type ClientError = 'absent' | { readonly code: number; readonly message: string };

/** Returns what clients receive of an error; `undefined` for nothing. */
function failureOf(error: WatchError, hasValue: boolean): ClientError | undefined {
  const { kind, status, resource, cause } = error;
  // Its clients say since when.
  const message = cause === undefined ? error.message : `${resource}: ${cause}`;
  if (status !== undefined) return { code: status.code, message: status.details };
  switch (kind) {
    case 'does-not-exist':
      return 'absent';
    case 'bad-name':
      return { code: StatusCode.INVALID_ARGUMENT, message };
    case 'invalid':
      // Too large for the relay, for example: what it has is good.
      return hasValue ? undefined : { code: StatusCode.UNAVAILABLE, message };
    case 'unreachable':
    case 'server-error':
    case 'timeout':
      return undefined;
  }
}

function digestOfAbsence(name: string): string {
  const hash = createHash('sha256').update(JSON.stringify(['absent', name]));
  return hash.digest('hex').slice(0, 16);
}
