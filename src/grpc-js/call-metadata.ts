// What is read off the metadata of a call, and off the call of a connection, where grpc-js has no other way.

import { Metadata } from '@grpc/grpc-js';
import type { CreateCall } from './subchannel-wrappers';

type Call = ReturnType<CreateCall>;
type SendArguments = Parameters<Call['sendMessageWithContext']>;

/** The key of the state of an attempt in its headers. Opaque data of the host would be a map for each attempt. */
const STATE = Symbol('grpc-xds attempt');

interface WithState<State> {
  [STATE]?: State;
}

/** The state of attempts, from their picks to their connections: the host passes on the headers of a pick, and nothing else. */
export class AttemptState<State> {
  set(headers: Metadata & WithState<State>, state: State): void {
    headers[STATE] = state;
  }

  /** Returns the state of the attempt with these headers; `undefined` if it has none. */
  get(headers: Metadata & WithState<State>): State | undefined {
    return headers[STATE];
  }
}

/**
 * Watches whether a picked call has call credentials. grpc-js does not show them, and sends those of a single call over
 * any connection. After the pick, it merges the metadata that they generate into that of the pick
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/load-balancing-call.ts, `doPick`).
 *
 * @param metadata That of the pick.
 */
export function watchCallCredentials(metadata: Metadata): void {
  metadata.merge = noteAndMerge;
}

/** Whether a watched call, which is started with this metadata, has call credentials. */
export function hasCallCredentials(metadata: Metadata): boolean {
  return metadata.merge === merge;
}

function noteAndMerge(this: Metadata, other: Metadata): void {
  this.merge = merge;
  this.merge(other);
}

function merge(this: Metadata, other: Metadata): void {
  Metadata.prototype.merge.call(this, other);
}

/** Receives the messages of a call. */
interface SendWatcher {
  /** Must not throw. */
  onMessageSent(message: Buffer): void;
}

/** The keys of the watcher of a call, and of the method that sends messages. */
const WATCHER = Symbol('grpc-xds observer');
const SEND = Symbol('grpc-xds send');

/** A call of grpc-js whose messages are watched. */
interface WatchedSends {
  [WATCHER]?: SendWatcher;
  [SEND]?: Call['sendMessageWithContext'];
}

/**
 * grpc-js sends messages by the method of the call that it got, and calls nothing else for them. All calls get
 * the same method, which V8 inlines: a closure for each costs several times as much.
 */
export function watchSentMessages(created: Call & WatchedSends, watcher: SendWatcher): void {
  created[WATCHER] = watcher;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called on the same object
  created[SEND] = created.sendMessageWithContext;
  created.sendMessageWithContext = sendWatched;
}

function sendWatched(this: WatchedSends, context: SendArguments[0], message: Buffer): void {
  this[WATCHER]?.onMessageSent(message);
  this[SEND]?.(context, message);
}
