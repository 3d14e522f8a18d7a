import type { ServerConfig } from '../bootstrap/bootstrap';

/** The status of one resource (gRFCs A40 and A88). */
export type ResourceStatus =
  'REQUESTED' | 'DOES_NOT_EXIST' | 'ACKED' | 'NACKED' | 'RECEIVED_ERROR' | 'TIMEOUT';

/** The last failure of a resource. */
export interface ResourceFailure {
  /** The version that was rejected; empty if the failure is not about a version. */
  readonly version: string;
  readonly details: string;
  /** What is not valid in a rejected update; absent for another failure. */
  readonly violations?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** The same of the first failure since the last accepted update. */
  readonly sinceMs: number;
  /** The rejected bytes; `undefined` if the failure is not about a received resource. */
  readonly rejected: Uint8Array | undefined;
}

/** The present state of one resource. */
export interface ResourceSnapshot {
  readonly typeUrl: string;
  readonly name: string;
  readonly status: ResourceStatus;
  /** The accepted resource in use, also while a newer one is rejected. */
  readonly accepted:
    | { readonly version: string; readonly bytes: Uint8Array; readonly updatedAtMs: number }
    | undefined;
  /** The latest rejection or error. An accepted update clears it. */
  readonly failure: ResourceFailure | undefined;
  /** The number of watchers. */
  readonly watchers: number;
  /** Milliseconds since the epoch at which the wait for a first answer began; `undefined` once there was one. */
  readonly waitingSinceMs: number | undefined;
}

/** The present state of one management server. */
export interface ServerSnapshot {
  readonly serverUri: string;
  readonly state: 'idle' | 'connecting' | 'backoff' | 'open' | 'closed';
  /** The last failure of a stream, if none has worked since. */
  readonly lastError: string | undefined;
  /** When the first of the failed attempts since it last worked was, in ISO 8601; `undefined` if none has failed. */
  readonly failingSince: string | undefined;
  /** Milliseconds until the next attempt, in `backoff` only. */
  readonly retryInMs: number | undefined;
  /**
   * How many streams in a row the server has ended soon after they opened; zero unless there are pauses between them because of
   * that. A server that keeps one stream for each host ends the stream of one process when another one connects.
   */
  readonly shortStreams: number;
}

/** A value of a resource that is kept to be compared, or to show a time at which it was in use. */
export interface KeptValue {
  readonly version: string;
  /** `undefined` if they are too large, or no longer kept. */
  readonly bytes: Uint8Array | undefined;
}

/** A change of a resource from one server. */
export interface ResourceChange {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly serverUri: string;
  readonly typeUrl: string;
  readonly name: string;
  /**
   * `missing`: the server has said that there is no such resource, and there was none before. `released`: nothing watches the
   * resource any longer.
   */
  readonly kind: 'accepted' | 'rejected' | 'removed' | 'missing' | 'timed-out' | 'released';
  /** The version of an accepted value; empty for the others. */
  readonly version: string;
  /** The change of a value, if its decoder knows it, or the reason why there is no new value. */
  readonly text: string;
  /** The value that was in use before; `undefined` if there was none. */
  readonly before: KeptValue | undefined;
  /** The value that was rejected; `undefined` for other changes. */
  readonly rejected: KeptValue | undefined;
}

/** The last changes of the resources of all servers of a bootstrap, also of those that are no longer watched. */
export interface ResourceHistory {
  /** The oldest first. */
  readonly changes: readonly ResourceChange[];
  /** Changes before this time are not kept; -Infinity if all are. Milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** Everything a client knows, for CSDS and for diagnostics. Plain data, a copy. */
export interface ClientSnapshot {
  readonly servers: readonly ServerSnapshot[];
  readonly resources: readonly ResourceSnapshot[];
  /** The last changes of these resources, the oldest first, without releases. */
  readonly changes: readonly ResourceChange[];
}

/**
 * Returns the resources of several clients, each once. Where one client uses another server than the others (gRFC A71),
 * the value accepted last counts.
 */
export function mergeResources(
  clients: Iterable<{ resources(): Iterable<ResourceSnapshot> }>,
): ResourceSnapshot[] {
  const merged = new Map<string, ResourceSnapshot>();
  for (const client of clients) {
    for (const resource of client.resources()) {
      const key = `${resource.typeUrl} ${resource.name}`;
      const known = merged.get(key);
      if (known === undefined || acceptedAtMs(known) < acceptedAtMs(resource)) {
        merged.set(key, resource);
      }
    }
  }
  return [...merged.values()];
}

function acceptedAtMs({ accepted }: ResourceSnapshot): number {
  return accepted?.updatedAtMs ?? -Infinity;
}

/** Receives the events of a client, for metrics (gRFC A78). All methods are called from the client's serializer. */
export interface ClientEvents {
  /** A server became unreachable or its stream failed before a response. */
  onServerFailure(server: ServerConfig): void;
  /** A response was read: how many of its resources were valid and how many not. */
  onResponse(server: ServerConfig, typeUrl: string, valid: number, invalid: number): void;
}

/** Ignores every event. */
export const noClientEvents: ClientEvents = { onServerFailure() {}, onResponse() {} };
