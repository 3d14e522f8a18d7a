import type { Fact } from '../../util/compare-subjects';
import { cutText } from '../../util/text';
import { textOf, type Json } from '../top/report-json';

/** Characters of a text of a report. */
const MAX_TEXT = 500;

/** Returns a text of a report, cut. */
export function shortText(value: unknown): string {
  return cutText(textOf(value), MAX_TEXT);
}

/**
 * Returns what is compared of a client of a relay: how it has answered for each type. Versions are not compared, since clients
 * that subscribe to other names have others.
 */
export function clientFacts(types: readonly Json[]): ReadonlyMap<string, Fact> {
  return new Map(
    types.map((type) => {
      const url = shortText(type['typeUrl']);
      return [url.slice(url.lastIndexOf('.') + 1), { text: describeAnswer(type) }];
    }),
  );
}

function describeAnswer({ rejection, sentVersion, ackedVersion }: Json): string {
  if (typeof rejection === 'string') return `rejected: ${shortText(rejection)}`;
  if (sentVersion === ackedVersion) return 'acknowledged';
  return `waiting, acknowledged ${shortText(ackedVersion) || 'nothing'}`;
}
