/** What the client thinks of a response. */
export type Verdict =
  | {
      readonly kind: 'accepted';
      readonly typeUrl: string;
      readonly nonce: string;
      readonly version: string;
    }
  | {
      readonly kind: 'rejected';
      readonly typeUrl: string;
      readonly nonce: string;
      /** Everything that is wrong with it, for the server to read. */
      readonly message: string;
    }
  /** Not even the nonce can be read, so that it can only be answered by ending the stream. */
  | { readonly kind: 'unreadable'; readonly message: string };

/** Whom a stream tells what happens on it. All methods are called from the client's queue. */
export interface AdsStreamHandler {
  /** The names wanted of a type now. */
  names(typeUrl: string): string[];
  /** The types of which something is wanted now. */
  typeUrls(): string[];
  /** Whether a resource is wanted and there is no value, so that its coming must be watched over. */
  isMissing(typeUrl: string, name: string): boolean;
  /** A response came. */
  onResponse(bytes: Uint8Array): Verdict;
  /**
   * A stream ended, or could not be made, before a response came.
   * @param reason Follows the name of the server.
   * @param retryInMs When the next attempt is made.
   */
  onFailure(reason: string, retryInMs: number): void;
  /** A resource was asked for and did not come in time. */
  onResourceTimeout(typeUrl: string, name: string, serverAnswered: boolean): void;
}
