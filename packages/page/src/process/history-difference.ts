import { REDACTED } from '../../../../src/util/text';
import { type ResourceChange, diffValues, resourceToJson } from 'grpc-xds/internal';
import type { ChangedText } from '../graph/words';
import { cellText } from '../live-page/view';

/** The encoded size of two values together up to which they are compared. */
const MAX_COMPARED_BYTES = 512 * 1024;
const NO_BYTES = new Uint8Array();

/** How a resource differs before and after an event. */
export interface ResourceDifference {
  /** Each with its path, such as `lb_policy "A" -> "B"`: at most 100. */
  readonly lines: readonly ChangedText[];
  /** What is not shown, and why. */
  readonly note?: string;
}

/** Compares the values of a resource, without what may be a secret. @param before undefined if there was none. */
export function compareValues(
  typeUrl: string,
  before: ResourceChange['before'],
  after: ResourceChange['before'],
): ResourceDifference {
  const values = [before, after].filter((value) => value !== undefined);
  if (values.some(({ bytes }) => bytes === undefined)) {
    return { lines: [], note: 'the value is no longer kept, or was too large to be' };
  }
  const [from, to] = [before?.bytes ?? NO_BYTES, after?.bytes ?? NO_BYTES];
  const size = from.length + to.length;
  if (size > MAX_COMPARED_BYTES) {
    return { lines: [], note: `${size} bytes: too large to be shown` };
  }
  const lines = describeDifferences(typeUrl, from, to);
  if (lines.length > 0) return { lines };
  const hasSecret = JSON.stringify(resourceToJson(typeUrl, from)).includes(REDACTED);
  return { lines, note: `nothing that is shown differs${hasSecret ? '; a secret may' : ''}` };
}

/** Describes how two values differ, in a line for each path. */
export function describeDifferences(
  typeUrl: string,
  from: Uint8Array,
  to: Uint8Array,
): readonly ChangedText[] {
  return diffValues(typeUrl, from, to).map(({ kind, path, before, after }) => {
    const [old, next] = [before, after].map((value) => JSON.stringify(value));
    const shown = kind === 'changed' ? `${old} -> ${next}` : (next ?? old);
    return { change: kind, text: cellText(`${path} ${shown}`) };
  });
}
