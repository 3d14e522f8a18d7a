import type { Handle } from '../../util/handle';
import { joinBounded } from '../../util/violations';
import type { AdsResponse } from './ads-response';
import type { ReadResponse } from './response-reader';

/** How a response is answered. */
export type Answer =
  | { readonly kind: 'acknowledge' }
  | {
      readonly kind: 'reject';
      readonly reason: string;
      /** Whether a resource was accepted that is not the cached one. */
      readonly hasNews: boolean;
    }
  /** Not at all, because its type was not requested: an answer would be a subscription to everything of the type. */
  | { readonly kind: 'none' };

/** What a response means for the stream that it was received on. All names are canonical and of its type. */
export interface Verdict {
  readonly answer: Answer;
  /** Resources that the response is about, so that they are not waited for any longer. */
  readonly settled: Iterable<string>;
  /** Resources to request again, because the server believes that they are cached here. */
  readonly requestAgain: Iterable<string>;
  /** Whether a resource that is left out is thereby said not to exist. */
  readonly isComplete: boolean;
  /** Whether a resource was requested when the response arrived; others may have been added while it was read. */
  readonly wasRequested: (name: string) => boolean;
}

/** The verdict on a response of a type that was not requested. */
export const UNREQUESTED: Verdict = {
  answer: { kind: 'none' },
  settled: [],
  requestAgain: [],
  isComplete: false,
  wasRequested: () => false,
};

/** The resource of a name when a response has been read. */
export interface VerdictResource {
  readonly accepted: object | undefined;
  /** Its place in the order in which the resources of the channel were subscribed to. */
  readonly position: number;
}

/**
 * Decides what a response means for its stream: it is rejected (NACK) if anything in it is wrong, and else
 * acknowledged.
 * @param resources The requested resources of the type, now.
 * @param latestPosition The position of the resource that was requested last when the response arrived.
 */
export function decideVerdict(
  { events, lost, removed, violations, isComplete }: ReadResponse,
  resources: ReadonlyMap<string, VerdictResource>,
  latestPosition: number,
): Verdict {
  const wasRequested = (name: string) => {
    const resource = resources.get(name);
    return resource !== undefined && resource.position <= latestPosition;
  };
  const settled: string[] = [];
  const requestAgain: string[] = [...lost];
  for (const name of removed) if (wasRequested(name)) settled.push(name);
  let hasNews = false;
  for (const [name, event] of events) {
    const cached = resources.get(name)?.accepted;
    // The value of a heartbeat may have gone while the response was read.
    const isGone = event.kind === 'renewed' && cached === undefined;
    (isGone ? requestAgain : settled).push(name);
    if (event.kind === 'accepted' && event.accepted !== cached) hasNews = true;
  }
  const answer: Answer =
    violations.length === 0
      ? { kind: 'acknowledge' }
      : { kind: 'reject', reason: joinBounded(violations), hasNews };
  return { answer, settled, requestAgain, isComplete, wasRequested };
}

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
  | { readonly kind: 'failed'; readonly reason: string; readonly retryInMs: number }
  /** Streams in a row were displaced, the last one at this age; `undefined` when one has lasted. */
  | { readonly kind: 'displaced'; readonly lastAgeMs: number | undefined };

/** A response that is being read, until it is released. */
export interface ResponseReading extends Handle {
  /**
   * Reads the next part, in a fraction of a millisecond, and applies the response with the last one. It must not call the stream.
   * @returns the verdict when the response is applied.
   */
  next(): Verdict | undefined;
}

/** Receives the events of an ADS stream. All methods are called from the client's queue. */
export interface AdsStreamHandler {
  /** Begins to read a response. */
  onResponse(response: AdsResponse): ResponseReading;
  /** Called with `reachable` for every response, before `onResponse`. */
  onStateChanged(change: AdsStreamChange): void;
  /**
   * Called when a resource was requested and not received in time: `overdue` if it is requested again on a new stream,
   * `missing` if it is concluded not to exist (gRFC A57).
   * @param serverAnswered Whether the server has answered at all since it last failed.
   */
  onTimeout(key: ResourceKey, kind: 'overdue' | 'missing', serverAnswered: boolean): void;
  /** Called with an exception that ends a stream. */
  onError(error: unknown): void;
}
