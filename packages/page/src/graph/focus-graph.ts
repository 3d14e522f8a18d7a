import type { GraphEdge, GraphNode, MeshGraph } from './mesh-graph';
import { inSteps, type Steps } from '../../../../src/util/steps';

/** Leaves the nodes that are searched for, what leads to them, and what they lead to, in steps. */
export function* focusGraph(
  { target, nodes, edges }: MeshGraph,
  isSearched: (node: GraphNode) => boolean,
): Steps<MeshGraph> {
  const found: string[] = [];
  yield* inSteps(nodes, (node) => {
    if (isSearched(node)) found.push(node.id);
  });
  const ahead = yield* reach(found, edges, ({ from, to }) => [from, to]);
  const back = yield* reach(found, edges, ({ from, to }) => [to, from]);
  const isKept = (id: string) => ahead.has(id) || back.has(id);
  yield;
  const keptNodes = nodes.filter(({ id }) => isKept(id));
  yield;
  const keptEdges = edges.filter(
    ({ from, to }) => (ahead.has(from) && ahead.has(to)) || (back.has(from) && back.has(to)),
  );
  return { target, nodes: keptNodes, edges: keptEdges };
}

/** @param ends Returns the ends of an edge in the direction in which it is followed. */
function* reach(
  starts: readonly string[],
  edges: readonly GraphEdge[],
  ends: (edge: GraphEdge) => readonly [string, string],
): Steps<ReadonlySet<string>> {
  const ways = new Map<string, string[]>();
  yield* inSteps(edges, (edge) => {
    const [from, to] = ends(edge);
    const group = ways.get(from);
    if (group === undefined) ways.set(from, [to]);
    else group.push(to);
  });
  const reached = new Set(starts);
  // A set that is being iterated includes what is added to it meanwhile.
  yield* inSteps(reached, (id) => {
    for (const next of ways.get(id) ?? []) reached.add(next);
  });
  return reached;
}
