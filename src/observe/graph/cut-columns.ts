import { CONTROL_PLANE_COLUMNS, isOfControlPlane } from './control-plane-graph';
import {
  countStates,
  GRAPH_STATES,
  worseState,
  type GraphColumn,
  type GraphEdge,
  type GraphNode,
  type MeshGraph,
} from './mesh-graph';

const TARGET_COLUMNS = ['target', 'route', 'cluster', 'locality', 'endpoint'] as const;
const SERVER_COLUMNS = ['client', 'address', 'chain', 'outcome'] as const;

/** Returns the columns of a graph, from left to right. */
export function columnsOf({ nodes }: Pick<MeshGraph, 'nodes'>): readonly GraphColumn[] {
  const columns = new Set(nodes.map(({ column }) => column));
  const control = CONTROL_PLANE_COLUMNS.filter((column) => columns.has(column));
  // A target without a config has nothing else.
  if (control.length > 0 && [...columns].every(isOfControlPlane)) return control;
  return [...(columns.has('address') ? SERVER_COLUMNS : TARGET_COLUMNS), ...control];
}

/** Returns the id of the node that stands for the nodes of a column that are left out. */
export function restOf(column: GraphColumn): string {
  return `more ${column}`;
}

/**
 * Leaves some nodes of each column, and one that stands for the rest: those that were changed come before others, then those with
 * problems, then those that get most of the calls.
 *
 * @param limitOf Returns the number of nodes of a column that are left.
 */
export function cutColumns(graph: MeshGraph, limitOf: (column: GraphColumn) => number): MeshGraph {
  return cutWithStandIns(graph, limitOf).graph;
}

/** Does the same, and returns the ids of the nodes that stand for others as well, by the ids of those. */
export function cutWithStandIns(
  { target, nodes, edges }: MeshGraph,
  limitOf: (column: GraphColumn) => number,
): { readonly graph: MeshGraph; readonly standIns: ReadonlyMap<string, string> } {
  const standIns = new Map<string, string>();
  const kept: GraphNode[] = [];
  const byColumn = new Map<GraphColumn, GraphNode[]>();
  for (const column of columnsOf({ nodes })) byColumn.set(column, []);
  for (const node of nodes) byColumn.get(node.column)?.push(node);
  let flowOf: ReturnType<typeof flowsInto> | undefined;
  for (const [column, all] of byColumn) {
    const maxNodes = limitOf(column);
    if (all.length <= maxNodes) {
      for (const node of all) kept.push(node);
      continue;
    }
    flowOf ??= flowsInto(edges);
    const shown = new Set(mostImportant(all, flowOf).slice(0, maxNodes));
    const rest = all.filter((node) => !shown.has(node));
    for (const node of all) if (shown.has(node)) kept.push(node);
    const id = restOf(column);
    for (const node of rest) standIns.set(node.id, id);
    const states = rest.map(({ state }) => state);
    const count = rest.reduce((sum, node) => sum + (node.count ?? 1), 0);
    kept.push({
      ...{ id, column, name: `${count} more`, count, group: { id, isOpen: false } },
      ...{ state: states.reduce(worseState), text: countStates(states) },
    });
  }
  return { graph: { target, nodes: kept, edges: joinEdges(edges, standIns) }, standIns };
}

function mostImportant(
  nodes: readonly GraphNode[],
  flowOf: (id: string) => number,
): readonly GraphNode[] {
  const ranked = nodes.map((node) => {
    const { id, state, change } = node;
    const rank = GRAPH_STATES.indexOf(state) + (change === undefined ? 0 : GRAPH_STATES.length);
    return { node, rank, flow: flowOf(id) };
  });
  return ranked.sort((a, b) => b.rank - a.rank || b.flow - a.flow).map(({ node }) => node);
}

/** Returns the share of all calls that the weights give to a node; 1 for one that nothing leads to. */
function flowsInto(edges: readonly GraphEdge[]): (id: string) => number {
  const incoming = new Map<string, GraphEdge[]>();
  for (const edge of edges) {
    const own = incoming.get(edge.to);
    if (own === undefined) incoming.set(edge.to, [edge]);
    else own.push(edge);
  }
  const flows = new Map<string, number>();
  const flowOf = (id: string): number => {
    const known = flows.get(id);
    if (known !== undefined) return known;
    // An aggregate cluster may not contain itself, but resources may say so.
    flows.set(id, 0);
    let flow = incoming.has(id) ? 0 : 1;
    for (const { from, isUsed, share, evenShare } of incoming.get(id) ?? []) {
      if (isUsed) flow += flowOf(from) * (share ?? evenShare ?? 1);
    }
    flows.set(id, flow);
    return flow;
  };
  return flowOf;
}

/** Joins the edges between the same two nodes, once nodes stand for others. */
function joinEdges(
  edges: readonly GraphEdge[],
  standIns: ReadonlyMap<string, string>,
): readonly GraphEdge[] {
  const joined = new Map<string, Map<string, GraphEdge>>();
  for (const edge of edges) {
    const [from, to] = [standIns.get(edge.from) ?? edge.from, standIns.get(edge.to) ?? edge.to];
    // Between two that the same node stands for.
    if (from === to) continue;
    const own = joined.get(from) ?? new Map<string, GraphEdge>();
    joined.set(from, own);
    const known = own.get(to);
    const isAsItWas = known === undefined && from === edge.from && to === edge.to;
    own.set(to, isAsItWas ? edge : joinEdge(known, edge, { from, to }));
  }
  return [...joined.values()].flatMap((own) => [...own.values()]);
}

/** @param ends The nodes that stand for those of the edge. */
function joinEdge(
  known: GraphEdge | undefined,
  edge: GraphEdge,
  { from, to }: Pick<GraphEdge, 'from' | 'to'>,
): GraphEdge {
  // Shares of different nodes do not add up.
  const isAlone = known === undefined && from === edge.from;
  const share = isAlone ? edge.share : known && from === edge.from ? sum(known, edge) : undefined;
  return {
    ...{ from, to, text: known === undefined ? edge.text : '' },
    ...(share !== undefined && { share, ...(edge.isMeasured === true && { isMeasured: true }) }),
    isUsed: edge.isUsed || known?.isUsed === true,
    ...(edge.change !== undefined && isAlone && { change: edge.change }),
  };
}

function sum(a: GraphEdge, b: GraphEdge): number | undefined {
  return a.share === undefined || b.share === undefined ? undefined : a.share + b.share;
}
