import {
  cellText,
  createView,
  matchesFilter,
  rowId,
  type Row,
  type View,
  type ViewRequest,
} from 'grpc-xds-page/internal';
import type { ComparedClient, Comparison, Difference } from './compare-clients';
import { listFirst } from '../../../../src/util/text';

interface DifferenceRow extends Row {
  readonly fact: string;
  readonly usual: string;
  readonly others: readonly string[];
}

/** The view of the differences of a comparison. */
export function differenceView(
  { differences }: Comparison,
  clients: readonly ComparedClient[],
  request: ViewRequest,
): View {
  const rows = differences.map((each) => differenceRow(each, clients));
  const found = rows.filter(({ fact, usual, others }) =>
    matchesFilter(request.filter, fact, usual, others.join(' ')),
  );
  return createView(found, request, (row) => row);
}

function differenceRow(
  { fact, usual, usualCount, others }: Difference,
  clients: readonly ComparedClient[],
): DifferenceRow {
  return {
    id: rowId(fact),
    fact: cellText(fact),
    usual: usual === undefined ? 'no majority' : cellText(`${usual} (${usualCount})`),
    others: listFirst(others, ({ client, text }) =>
      cellText(`${clients[client]?.name ?? ''}: ${text}`),
    ),
  };
}

/** Returns what a client has otherwise than the others, as texts for a cell, such as `Cluster: rejected: no good, others acknowledged`. */
export function ownDifferences({ differences }: Comparison, client: number): readonly string[] {
  const own = differences.flatMap(({ fact, usual, others }) => {
    const text = others.find((each) => each.client === client)?.text;
    const rest = usual === undefined ? 'no majority' : `others ${usual}`;
    return text === undefined ? [] : cellText(`${fact}: ${text}, ${rest}`);
  });
  return listFirst(own);
}
