import type { ServerConfig } from '../bootstrap/bootstrap';

/** What the client knows of one resource (gRFCs A40 and A88). */
export type ResourceStatus =
  'REQUESTED' | 'DOES_NOT_EXIST' | 'ACKED' | 'NACKED' | 'RECEIVED_ERROR' | 'TIMEOUT';

/** What went wrong with a resource last. */
export interface ResourceFailure {
  /** The version that was rejected; empty if the failure is not about a version. */
  readonly version: string;
  readonly details: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** What was rejected, as it came; `undefined` if the failure is not about something that came. */
  readonly rejected: Uint8Array | undefined;
}

/** One resource as the client sees it now. */
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
  /** How many watchers there are. */
  readonly watchers: number;
  /** Milliseconds since the epoch at which the wait for a first answer began; `undefined` once there was one. */
  readonly waitingSinceMs: number | undefined;
}

/** One management server as the client sees it now. */
export interface ServerSnapshot {
  readonly serverUri: string;
  readonly state: 'idle' | 'connecting' | 'backoff' | 'open' | 'closed';
  /** The last failure of a stream, if none has worked since. */
  readonly lastError: string | undefined;
  /** Milliseconds until the next attempt, in `backoff` only. */
  readonly retryInMs: number | undefined;
}

/** Everything a client knows, for CSDS and for diagnostics. Plain data, a copy. */
export interface ClientSnapshot {
  readonly servers: readonly ServerSnapshot[];
  readonly resources: readonly ResourceSnapshot[];
  /** One line per wait in progress: what for, from whom, since when, what comes next. */
  readonly waitingFor: readonly string[];
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

/** What a client does, for metrics (gRFC A78). All methods are called from the client's queue. */
export interface ClientEvents {
  /** A server became unreachable or its stream failed before a response. */
  onServerFailure(server: ServerConfig): void;
  /** A response was read: how many of its resources were valid and how many not. */
  onResponse(server: ServerConfig, typeUrl: string, valid: number, invalid: number): void;
}

/** Listens to nothing. */
export const noClientEvents: ClientEvents = { onServerFailure() {}, onResponse() {} };
