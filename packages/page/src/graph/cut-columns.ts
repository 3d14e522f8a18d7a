import { getOrMake } from './group-by';
import {
  countStates,
  GRAPH_COLUMNS,
  GRAPH_STATES,
  worseState,
  type CountedCalls,
  type GraphColumn,
  type GraphEdge,
  type GraphNode,
  type GraphState,
  type MeshGraph,
} from './mesh-graph';
import { findWeightFlows, type WeightFlows } from './weight-flows';

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
  return cutGraph(graph, limitOf).graph;
}

/** A graph with columns cut. */
interface CutGraph {
  readonly graph: MeshGraph;
  /** The ids of the nodes that stand for others, by the ids of those. */
  readonly standIns: ReadonlyMap<string, string>;
}

/** Does the same, and says which nodes stand for others. */
export function cutGraph(
  { target, nodes, edges }: MeshGraph,
  limitOf: (column: GraphColumn) => number,
): CutGraph {
  const standIns = new Map<string, string>();
  const kept: GraphNode[] = [];
  const byColumn = new Map<GraphColumn, GraphNode[]>();
  for (const column of GRAPH_COLUMNS) byColumn.set(column, []);
  for (const node of nodes) byColumn.get(node.column)?.push(node);
  let flows: WeightFlows | undefined;
  for (const [column, all] of byColumn) {
    const maxNodes = limitOf(column);
    if (all.length <= maxNodes) {
      for (const node of all) kept.push(node);
      continue;
    }
    flows ??= findWeightFlows({ edges }, false);
    const shown = mostImportant(all, flows, maxNodes);
    const states: GraphState[] = [];
    let count = 0;
    const id = restOf(column);
    for (const node of all) {
      if (shown.has(node)) {
        kept.push(node);
        continue;
      }
      standIns.set(node.id, id);
      states.push(node.state);
      count += node.count ?? 1;
    }
    kept.push({
      id,
      column,
      name: `${count} more`,
      count,
      group: { id, isOpen: false },
      state: states.reduce(worseState),
      text: countStates(states),
    });
  }
  return { graph: { target, nodes: kept, edges: joinEdges(edges, standIns) }, standIns };
}

/** Returns the first nodes of a column by their importance. */
function mostImportant(
  nodes: readonly GraphNode[],
  flows: WeightFlows,
  maxNodes: number,
): ReadonlySet<GraphNode> {
  const ranked = nodes.map((node) => {
    const { id, state, change } = node;
    const rank = GRAPH_STATES.indexOf(state) + (change === undefined ? 0 : GRAPH_STATES.length);
    return { node, rank, flow: flows.ofNode(id) };
  });
  ranked.sort((a, b) => b.rank - a.rank || b.flow - a.flow);
  return new Set(ranked.slice(0, maxNodes).map(({ node }) => node));
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
    const own = getOrMake(joined, from, () => new Map<string, GraphEdge>());
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
    from,
    to,
    text: known === undefined ? edge.text : '',
    ...(share !== undefined && { share, ...(edge.isMeasured === true && { isMeasured: true }) }),
    isUsed: edge.isUsed || known?.isUsed === true,
    // Those of several routes are all of what they lead to.
    ...(to === edge.to && edge.calls && { calls: withoutRoute(edge.calls) }),
    ...(edge.change !== undefined && isAlone && { change: edge.change }),
  };
}

function withoutRoute({ route: _route, ...calls }: CountedCalls): CountedCalls {
  return calls;
}

function sum(a: GraphEdge, b: GraphEdge): number | undefined {
  return a.share === undefined || b.share === undefined ? undefined : a.share + b.share;
}
