import { describeLocality } from '../../resources/endpoints/endpoints';
import { sanitizeText } from '../../util/text';
import { describeWait } from '../connectivity';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { SwitchingChild } from '../tree/child';

/** The number of priorities that are looked at for a text. */
export const MAX_SEARCHED = 10;
/** The number of causes in it. */
const MAX_CAUSES = 3;

/** Characters of the text: each cause may have several errors of endpoints. */
const MAX_LENGTH = 3000;

/** A priority that has failed. */
export interface FailedPriority {
  /** As {@link describePriority} names it. */
  readonly text: string;
  readonly policy: Pick<SwitchingChild, 'errorMessage' | 'picker'>;
}

/** Names a priority. */
export function describePriority(position: number, name: string): string {
  return `priority ${position} (${name})`;
}

/** Names the localities of a priority: the first, and how many more. */
export function describeLocalities({ localities }: Pick<EndpointSet, 'localities'>): string {
  const [first] = localities;
  if (first === undefined) return '';
  const more = localities.length - 1;
  return describeLocality(first.locality) + (more === 0 ? '' : ` and ${more} more`);
}

/** Returns why a priority is not used. */
export function failureOf({ errorMessage, picker }: FailedPriority['policy']): string {
  return errorMessage ?? describeWait(picker) ?? 'it is not connected';
}

/**
 * Returns the causes of the priorities before the one in use, to follow its own cause, each once; empty if there are none.
 *
 * @param first The first of them.
 * @param count How many there are. All have failed.
 */
export function describeFailed(first: readonly FailedPriority[], count: number): string {
  const byCause = new Map<string, FailedPriority[]>();
  for (const priority of first) {
    const cause = failureOf(priority.policy);
    const known = byCause.get(cause);
    if (known === undefined) byCause.set(cause, [priority]);
    else known.push(priority);
  }
  const texts: string[] = [];
  let left = count;
  for (const [cause, [named, ...others]] of byCause) {
    if (named === undefined || texts.length === MAX_CAUSES) break;
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    texts.push(`${named.text}${more}: ${cause}`);
    left -= 1 + others.length;
  }
  if (texts.length === 0) return '';
  const hidden = left === 0 ? '' : `; and ${left} more`;
  return sanitizeText(`; before it failed ${texts.join('; ')}${hidden}`, MAX_LENGTH);
}
