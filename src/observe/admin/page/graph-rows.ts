import type { GraphOptions } from '../../graph/build-mesh-graph';
import { columnsOf, cutColumns, restOf } from '../../graph/cut-columns';
import { buildServerGraph, type GraphServer } from '../../graph/server-graph';
import { focusGraph } from '../../graph/focus-graph';
import type { GraphColumn, GraphEdge, GraphNode, MeshGraph } from '../../graph/mesh-graph';
import { buildPastGraph, changesOf, type PastInput } from './past-graph';
import {
  cellText,
  matchesFilter,
  NO_ROWS,
  rowId,
  type Row,
  type View,
  type ViewRequest,
} from '../../live-page/view';

/** The nodes of a column, besides one for all others: at first, and once the column is opened. */
const MAX_NODES = 40;
const MAX_OPENED_NODES = 150;
/** The endpoints of a locality that have nodes of their own unless it is closed. */
const MAX_ENDPOINTS = 8;

/** Returns what a row of the graph has besides, such as rates of calls. */
export type DescribeTraffic = (part: GraphNode | GraphEdge) => Omit<Row, 'id'>;

/**
 * The graph of a target: a row for each column, each node and each edge, and for an earlier time one with what an event has changed.
 * It has no pages. Groups of nodes are opened by the id that their rows have as `opens`.
 *
 * @param describeTraffic Default: nothing.
 */
export function graphView(
  input: PastInput | undefined,
  request: Pick<ViewRequest, 'filter' | 'opened'>,
  describeTraffic?: DescribeTraffic,
): View {
  if (input === undefined) return NO_ROWS;
  const graph = buildPastGraph(input, graphOptions(request));
  const view = graphRows(graph, request, describeTraffic);
  const changes = changesOf(input, graph);
  if (changes === undefined) return view;
  const row = { id: 'changes', kind: 'changes', texts: changes.map(cellText) };
  return { ...view, total: view.total + 1, rows: [row, ...view.rows] };
}

/** The graph of the calls of servers, in the same form. */
export function serverGraphView(
  servers: readonly GraphServer[],
  request: Pick<ViewRequest, 'filter' | 'opened'>,
): View {
  return graphRows(buildServerGraph(servers), request);
}

/** Returns the rows of a graph whose columns are not cut, as `graphView` does. */
export function graphRows(
  graph: MeshGraph,
  request: Pick<ViewRequest, 'filter' | 'opened'>,
  describeTraffic: DescribeTraffic = () => ({}),
): View {
  const { filter } = request;
  const isOpen = (id: string) => request.opened.size > 0 && request.opened.has(nodeRowId(id));
  const found =
    filter === ''
      ? graph
      : focusGraph(graph, ({ name, text }) => matchesFilter(filter, name, text));
  const limitOf = (column: GraphColumn) => (isOpen(restOf(column)) ? MAX_OPENED_NODES : MAX_NODES);
  const cut = cutColumns(found, limitOf);
  const rows = [
    ...columnRows(found, cut, isOpen),
    ...cut.nodes.map((node) => ({ ...nodeRow(node), ...describeTraffic(node) })),
    ...cut.edges.map((edge) => ({ ...edgeRow(edge), ...describeTraffic(edge) })),
  ];
  return { total: rows.length, offset: 0, rows };
}

/** Which nodes of a graph there are, before its columns are cut. */
export function graphOptions({
  filter,
  opened,
}: Pick<ViewRequest, 'filter' | 'opened'>): Omit<GraphOptions, 'maxNodes'> {
  return {
    // An endpoint is found by its address only if it has a node.
    maxEndpoints: filter === '' ? MAX_ENDPOINTS : Infinity,
    opened: { has: (id) => opened.size > 0 && opened.has(nodeRowId(id)) },
  };
}

/** Returns the id of the row of a node. */
export function nodeRowId(id: string): string {
  return rowId('node', id);
}

/** Returns the id of the row of an edge. */
export function edgeRowId({ from, to }: Pick<GraphEdge, 'from' | 'to'>): string {
  return rowId('edge', from, to);
}

function columnRows(
  found: MeshGraph,
  cut: MeshGraph,
  isOpen: (id: string) => boolean,
): readonly Row[] {
  const counts = new Map(
    columnsOf(found).map((column) => [column, { nodes: 0, total: 0, shown: 0 }]),
  );
  for (const { column, count = 1, change } of found.nodes) {
    const own = counts.get(column);
    if (own === undefined || change === 'removed') continue;
    own.nodes++;
    own.total += count;
  }
  for (const { column, count, change } of cut.nodes) {
    const own = counts.get(column);
    if (own !== undefined && count === undefined && change !== 'removed') own.shown++;
  }
  return Array.from(counts, ([column, { nodes, total, shown }]) => ({
    ...{ id: column, kind: 'column', column, total, shown },
    ...(nodes > MAX_NODES && {
      opens: nodeRowId(restOf(column)),
      isOpen: isOpen(restOf(column)),
    }),
  }));
}

function nodeRow({ id, column, name, state, text, count, group, change }: GraphNode): Row {
  return {
    ...{ id: nodeRowId(id), kind: 'node', column, name: cellText(name), state },
    ...{ text: cellText(text) },
    ...(count !== undefined && { count }),
    ...(group !== undefined && { opens: nodeRowId(group.id), isOpen: group.isOpen }),
    ...(change !== undefined && { change }),
  };
}

function edgeRow(edge: GraphEdge): Row {
  const { from, to, share, isMeasured, isUsed, text, change } = edge;
  return {
    ...{ id: edgeRowId(edge), kind: 'edge', from: nodeRowId(from), to: nodeRowId(to) },
    ...(share !== undefined && { share }),
    ...(isMeasured === true && { isMeasured }),
    ...{ isUsed, text: cellText(text) },
    ...(change !== undefined && { change }),
  };
}
