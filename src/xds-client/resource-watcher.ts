import type { Handle } from '../util/handle';
import type { Result } from '../util/result';
import type { ResourceType } from './resource-type';

/** Why there is no resource, or it may be stale. Messages name node, server, resource and cause. */
export interface WatchError {
  readonly kind:
    /** The server says, or a timer concluded, that the resource does not exist. */
    | 'does-not-exist'
    /** The server sent a resource that is not valid. */
    | 'invalid'
    /** The server cannot be reached, or its stream ended before a response. */
    | 'unreachable'
    /** The server says that it cannot supply the resource (gRFC A88). */
    | 'server-error'
    /** Not received in time, though it may exist (gRFC A88 `resource_timer_is_transient_error`). */
    | 'timeout'
    /** The name is malformed, or of an authority that is not in the bootstrap. */
    | 'bad-name';
  readonly message: string;
  /** The resource of the message, such as `Listener "l"`. Default: the whole message is the cause. */
  readonly resource?: string;
  /** The message without its resource and without since when. Default: the message. */
  readonly cause?: string;
  /** What is not valid in the resource, without its server; only of kind `invalid`. */
  readonly violations?: string;
  /** Since when, in milliseconds since the epoch, as the message says. Default: it does not say. */
  readonly sinceMs?: number;
  /** The status with which the server says that it cannot supply the resource (gRFC A88). Default: it says nothing of the kind. */
  readonly status?: { readonly code: number; readonly details: string };
  /** Names the server and the node, if time ran out and the server has not answered this node at all. Default: none. */
  readonly silentServer?: string;
}

/**
 * Notified of one resource (gRFC A88). Both methods are called from the client's serializer and never re-entered.
 * `T` is the type of its values.
 */
export interface ResourceWatcher<T> {
  /** The resource's value changed, or there is none and a previous one must no longer be used. */
  onResourceChanged(update: Result<T, WatchError>): void;
  /** Something is wrong, yet the last value stays in use; `undefined` when that is over. */
  onAmbientError(error: WatchError | undefined): void;
}

/** What the dependency manager uses of an `XdsClient`. */
export interface ResourceSource {
  /** Watches one resource. The watcher is never called before `watch` has returned, if called from `run`. */
  watch<T>(type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle;
  /** Runs the task in the source's serializer, after everything already in it. */
  run(task: () => void): void;
  /** When the response was received whose effects are in the serializer, on the monotonic clock; `undefined` if none is. */
  readonly receivedAtMs: number | undefined;
  /** Sends no requests and reads no responses until the handle is released. */
  holdRequests(): Handle;
  /** Receives changes as soon as possible until the handle is released: see `XdsClient.hurry`. */
  hurry(): Handle;
  /** One line for each pending resource, and one with the number of those beyond `atMost`. */
  waitingFor(atMost: number): readonly string[];
}
