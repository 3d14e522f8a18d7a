import type { Steps } from '../util/steps';
import type { AdsResponse, RequestSource } from './ads-protocol';

/** Whom a stream tells what happens on it. All methods are called from the client's queue. */
export interface AdsStreamHandler extends RequestSource {
  /** Whether a resource is wanted and there is no value, so that its coming must be watched over. */
  isMissing(typeUrl: string, name: string): boolean;
  /** Whether nothing has come from the server since a stream failed. */
  isFailing(): boolean;
  /** The server is there, though it has nothing to say. */
  onAlive(): void;
  /** A response came of a type that was not requested on the stream; it is dropped without an answer. */
  onUnrequested(typeUrl: string): void;
  /** A response was received. @returns the text to reject it with; `undefined` to acknowledge it. */
  onResponse(response: AdsResponse): Steps<string | undefined>;
  /**
   * A stream ended, or could not be made, before a response came.
   * @param reason Follows the name of the server.
   * @param retryInMs When the next attempt is made.
   */
  onFailure(reason: string, retryInMs: number): void;
  /** A resource was asked for and has not come; it is asked for again on a new stream. */
  onOverdue(typeUrl: string, name: string): void;
  /** A resource was asked for and did not come in time. */
  onResourceTimeout(typeUrl: string, name: string, serverAnswered: boolean): void;
}
