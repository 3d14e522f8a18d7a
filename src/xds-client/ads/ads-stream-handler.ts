import type { Steps } from '../../util/steps';
import type { AdsResponse } from './ads-response';
import type { Verdict } from './verdict';

/** Identifies a resource. */
export interface ResourceKey {
  readonly typeUrl: string;
  /** Canonical. */
  readonly name: string;
}

/** Whether a server answers on a stream. */
export type AdsStreamChange =
  /** The server has answered, or its silence shows that there is nothing to send. */
  | { readonly kind: 'reachable' }
  /**
   * A stream ended, or could not be opened, before a response was received.
   * `reason` follows the name of the server; the next attempt is made in `retryInMs`.
   */
  | { readonly kind: 'failed'; readonly reason: string; readonly retryInMs: number };

/** Receives the events of an ADS stream. All methods are called from the client's queue. */
export interface AdsStreamHandler {
  /** Reads a response. It must not call the stream. */
  onResponse(response: AdsResponse): Steps<Verdict>;
  /** Called with `reachable` for every response, before `onResponse`. */
  onStateChanged(change: AdsStreamChange): void;
  /**
   * Called when a resource was requested and not received in time: `overdue` if it is requested again on a new stream,
   * `missing` if it is concluded not to exist (gRFC A57).
   * @param serverAnswered Whether the server has answered at all since it last failed.
   */
  onTimeout(key: ResourceKey, kind: 'overdue' | 'missing', serverAnswered: boolean): void;
}
