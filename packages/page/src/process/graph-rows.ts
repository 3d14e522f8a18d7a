import { buildWholeGraph, LiveGraph, type GraphInput } from '../graph/build-mesh-graph';
import type { PartOptions } from '../graph/cluster-part';
import { cutGraph, restOf } from '../graph/cut-columns';
import { focusGraph } from '../graph/focus-graph';
import type { GraphColumn, GraphEdge, GraphNode, MeshGraph } from '../graph/mesh-graph';
import { listChanges } from '../graph/changed-parts';
import { compareGraphs } from '../graph/compare-graphs';
import { groupBy } from '../graph/group-by';
import { withCallFlaw } from './call-faults';
import { sumRates } from './graph-rates';
import type { PastState } from './history-state';
import {
  cellText,
  matchesFilter,
  rowId,
  type Row,
  type View,
  type ViewRequest,
} from '../live-page/view';

/** The nodes of a column, besides one for all others: at first, and once the column is opened. */
const MAX_NODES = 40;
const MAX_OPENED_NODES = 100;
/** The endpoints of a locality that have nodes of their own unless it is closed. */
const MAX_ENDPOINTS = 8;

/** Returns what a row of the graph has besides, such as rates of calls. */
export type DescribeTraffic = (part: GraphNode | GraphEdge) => Omit<Row, 'id'>;

/** What a graph is drawn of, as it is or was, and what an event has changed in it. */
export type PastInput = GraphInput & Pick<PastState, 'changed'>;

/** What a reader has requested of a graph. */
type GraphRequest = Pick<ViewRequest, 'filter' | 'opened'>;

/** A row, and what it is of; undefined for what an event has changed. */
interface DrawnRow {
  readonly row: Row;
  readonly part: GraphNode | GraphEdge | undefined;
}

/**
 * The graph of a target as one reader sees it: a row for each node and each edge, and for an earlier time one with what
 * an event has changed. It has no pages. Groups of nodes are opened by the id that their rows have as `opens`. Rows are made again
 * only of a graph that has changed, the others are the same objects.
 */
export class DrawnGraph {
  private readonly live: LiveGraph;
  private latest: { readonly graph: MeshGraph; readonly rows: readonly DrawnRow[] } | undefined;
  /** The last one of an earlier time, which stays as it is. */
  private past: { readonly changed: PastInput['changed']; readonly graph: MeshGraph } | undefined;

  constructor(private readonly request: GraphRequest) {
    this.live = new LiveGraph(graphOptions(request));
  }

  /**
   * Returns the view of a state.
   *
   * @param describeTraffic Default: nothing.
   */
  view(input: PastInput, describeTraffic?: DescribeTraffic): View {
    const graph = this.graphOf(input);
    if (graph !== this.latest?.graph) {
      const rows = [...changeRows(input, graph), ...drawRows(graph, this.request)];
      this.latest = { graph, rows };
    }
    return viewOf(this.latest.rows, describeTraffic);
  }

  private graphOf(input: PastInput): MeshGraph {
    const { changed } = input;
    if (changed === undefined) return this.live.update(input);
    if (this.past?.changed !== changed) {
      const after = this.live.update(input);
      const before = buildWholeGraph({ ...input, ...changed.before }, graphOptions(this.request));
      this.past = { changed, graph: compareGraphs(before, after, changed.describe) };
    }
    return this.past.graph;
  }
}

function changeRows(input: PastInput, graph: MeshGraph): readonly DrawnRow[] {
  if (input.changed === undefined) return [];
  const changes = listChanges(graph);
  const listed =
    changes.length > 0 ? changes : [{ change: undefined, text: 'nothing in the graph' }];
  return listed.map(({ change, text }, index) => ({
    row: { id: `change ${index}`, kind: 'change', change, text: cellText(text) },
    part: undefined,
  }));
}

/** Returns the rows of a graph whose columns are not cut, as `DrawnGraph` does. */
export function graphRows(
  graph: MeshGraph,
  request: GraphRequest,
  describeTraffic?: DescribeTraffic,
): View {
  return viewOf(drawRows(graph, request), describeTraffic);
}

/** Returns the node that a reader sees for each node of a graph: itself, or one that stands for it. A filter may leave out both. */
export function drawnNodes(
  graph: MeshGraph,
  request: GraphRequest,
): (id: string) => GraphNode | undefined {
  const { graph: cut, standIns } = cutFor(graph, request);
  const nodes = new Map(cut.nodes.map((node) => [node.id, node]));
  return (id) => nodes.get(standIns.get(id) ?? id);
}

/** Cuts a graph to the part that a reader sees. */
function cutFor(graph: MeshGraph, request: GraphRequest) {
  const { filter } = request;
  const isOpen = (id: string) => request.opened.size > 0 && request.opened.has(nodeRowId(id));
  const found =
    filter === ''
      ? graph
      : focusGraph(graph, ({ name, text }) => matchesFilter(filter, name, text));
  const limitOf = (column: GraphColumn) => (isOpen(restOf(column)) ? MAX_OPENED_NODES : MAX_NODES);
  return { ...cutGraph(found, limitOf), isOpen };
}

function drawRows(graph: MeshGraph, request: GraphRequest): readonly DrawnRow[] {
  const { graph: cut, isOpen } = cutFor(graph, request);
  return [
    ...cut.nodes.map((node) => ({ row: nodeRow(node, isOpen), part: node })),
    ...cut.edges.map((edge) => ({ row: edgeRow(edge), part: edge })),
  ];
}

function viewOf(drawn: readonly DrawnRow[], describeTraffic?: DescribeTraffic): View {
  const rows = drawn.map(({ row, part }) => {
    const traffic = part && describeTraffic?.(part);
    return traffic === undefined || Object.keys(traffic).length === 0
      ? row
      : { ...row, ...traffic };
  });
  const shown =
    describeTraffic === undefined
      ? rows
      : withSums(rows).map((row) => (row['kind'] === 'node' ? withCallFlaw(row) : row));
  return { total: rows.length, offset: 0, rows: shown };
}

/** Gives the nodes without rates of their own those of the lines to them, or else from them. */
function withSums(rows: readonly Row[]): readonly Row[] {
  const counted = rows.filter(({ kind, rate }) => kind === 'edge' && rate !== undefined);
  if (counted.length === 0) return rows;
  const incoming = groupBy(counted, ({ to }) => to);
  const outgoing = groupBy(counted, ({ from }) => from);
  return rows.map((row) => {
    const { id, kind, rate } = row;
    const isCounted = kind !== 'node' || rate !== undefined;
    const lines = isCounted ? undefined : (incoming.get(id) ?? outgoing.get(id));
    return lines === undefined ? row : { ...row, ...sumRates(lines) };
  });
}

/** Which nodes of a graph there are, before its columns are cut. */
export function graphOptions({ filter, opened }: GraphRequest): PartOptions {
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

function nodeRow(
  { id, column, name, state, text, since, flaw, count, group, change }: GraphNode,
  isOpen: (id: string) => boolean,
): Row {
  return {
    id: nodeRowId(id),
    kind: 'node',
    column,
    name: cellText(name),
    state,
    text: cellText(text),
    since,
    flaw,
    count,
    opens: group && nodeRowId(group.id),
    isOpen: group && (group.isOpen || isOpen(group.id)),
    change,
  };
}

function edgeRow(edge: GraphEdge): Row {
  const { from, to, share, isMeasured, isUsed, text, change } = edge;
  return {
    id: edgeRowId(edge),
    kind: 'edge',
    from: nodeRowId(from),
    to: nodeRowId(to),
    share,
    isMeasured,
    isUsed,
    text: cellText(text),
    change,
  };
}
