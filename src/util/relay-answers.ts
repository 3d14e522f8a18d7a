import type { Fact } from './compare-subjects';

/** How a client of a relay has answered for one type. */
export interface RelayAnswer {
  readonly typeUrl: string;
  /** Of the last response; `undefined` if there was none. */
  readonly sentVersion: string | undefined;
  /** Of the last response that it has accepted. */
  readonly ackedVersion: string | undefined;
  /** Why it has rejected the last response. */
  readonly rejection: string | undefined;
}

/**
 * Returns what is compared of a client of a relay: how it has answered for each type. Versions are not compared, since clients
 * that subscribe to other names have others.
 */
export function answerFacts(answers: readonly RelayAnswer[]): ReadonlyMap<string, Fact> {
  return new Map(
    answers.map((answer) => {
      const { typeUrl } = answer;
      return [typeUrl.slice(typeUrl.lastIndexOf('.') + 1), { text: describeAnswer(answer) }];
    }),
  );
}

function describeAnswer({ rejection, sentVersion, ackedVersion }: RelayAnswer): string {
  if (rejection !== undefined) return `rejected: ${rejection}`;
  if (sentVersion === ackedVersion) return 'acknowledged';
  return `waiting, acknowledged ${ackedVersion ?? 'nothing'}`;
}
