import {
  cellText,
  createView,
  matchesFilter,
  rowId,
  type Row,
  type View,
  type ViewRequest,
} from './view';
import type { Comparison, Difference, Subject } from '../../util/compare-subjects';

/** The values of a difference, or the differences of a subject, in a row. */
const MAX_VALUES = 8;

interface DifferenceRow extends Row {
  readonly fact: string;
  readonly usual: string;
  readonly others: readonly string[];
}

/** The view of the differences of a comparison. */
export function differenceView(
  { differences }: Comparison,
  subjects: readonly Subject[],
  request: ViewRequest,
): View {
  const rows = differences.map((each) => differenceRow(each, subjects));
  const found = rows.filter(({ fact, usual, others }) =>
    matchesFilter(request.filter, fact, usual, others.join(' ')),
  );
  return createView(found, request, (row) => row);
}

function differenceRow(
  { fact, usual, usualCount, others }: Difference,
  subjects: readonly Subject[],
): DifferenceRow {
  const texts = others
    .slice(0, MAX_VALUES)
    .map(({ subject, text }) => cellText(`${subjects[subject]?.name ?? ''}: ${text}`));
  const left = others.length - texts.length;
  return {
    ...{ id: rowId(fact), fact: cellText(fact) },
    usual: usual === undefined ? 'no majority' : cellText(`${usual} (${usualCount})`),
    others: left > 0 ? [...texts, `and ${left} more`] : texts,
  };
}

/** Returns what a subject has otherwise than the others, as texts for a cell, such as `Cluster "cart": version 7, others version 8`. */
export function ownDifferences(
  { differences }: Comparison,
  subject: number | undefined,
): { readonly count: number; readonly texts: readonly string[] } {
  let count = 0;
  const texts: string[] = [];
  for (const { fact, usual, others } of differences) {
    const own = others.find((each) => each.subject === subject);
    if (own === undefined) continue;
    if (++count > MAX_VALUES) continue;
    const rest = usual === undefined ? 'no majority' : `others ${usual}`;
    texts.push(cellText(`${fact}: ${own.text}, ${rest}`));
  }
  return {
    count,
    texts: count > MAX_VALUES ? [...texts, `and ${count - MAX_VALUES} more`] : texts,
  };
}
