import { groupBy } from './group-by';
import type { GraphEdge, GraphNode, MeshGraph } from './mesh-graph';

/** Leaves the nodes that are searched for, what leads to them, and what they lead to. */
export function focusGraph(
  { target, nodes, edges }: MeshGraph,
  isSearched: (node: GraphNode) => boolean,
): MeshGraph {
  const found = nodes.filter(isSearched).map(({ id }) => id);
  const ahead = reach(found, edges, ({ from, to }) => [from, to]);
  const back = reach(found, edges, ({ from, to }) => [to, from]);
  return {
    target,
    nodes: nodes.filter(({ id }) => ahead.has(id) || back.has(id)),
    edges: edges.filter(
      ({ from, to }) => (ahead.has(from) && ahead.has(to)) || (back.has(from) && back.has(to)),
    ),
  };
}

/** @param ends Returns the ends of an edge in the direction in which it is followed. */
function reach(
  starts: readonly string[],
  edges: readonly GraphEdge[],
  ends: (edge: GraphEdge) => readonly [string, string],
): ReadonlySet<string> {
  const ways = groupBy(edges, (edge) => ends(edge)[0]);
  const reached = new Set(starts);
  // A set that is being iterated includes what is added to it meanwhile.
  for (const id of reached) for (const edge of ways.get(id) ?? []) reached.add(ends(edge)[1]);
  return reached;
}
