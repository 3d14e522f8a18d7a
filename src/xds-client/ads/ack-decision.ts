import { joinBounded } from '../../util/violations';
import type { ResponseContent } from './read-response';

/** How a response is answered. */
export type Answer =
  | { readonly kind: 'acknowledge' }
  | {
      readonly kind: 'reject';
      readonly reason: string;
      /** Whether a resource was accepted that is not the cached one. */
      readonly hasNews: boolean;
    };

/** What a response means for the stream that it was received on. All names are canonical and of its type. */
export interface AckDecision {
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

/** The resource of a name when a response has been read. */
export interface DecidedResource {
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
export function decideAck(
  { events, lost, removed, violations, isComplete }: ResponseContent,
  resources: ReadonlyMap<string, DecidedResource>,
  latestPosition: number,
): AckDecision {
  const wasRequested = (name: string) => {
    const resource = resources.get(name);
    return resource !== undefined && resource.position <= latestPosition;
  };
  const settled: string[] = [];
  const requestAgain: string[] = [...lost];
  for (const name of removed.keys()) if (wasRequested(name)) settled.push(name);
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
