import type { GraphNode, MeshGraph } from './mesh-graph';

/** Leaves the nodes that are searched for, what leads to them, and what they lead to. */
export function focusGraph(
  { target, nodes, edges }: MeshGraph,
  isSearched: (node: GraphNode) => boolean,
): MeshGraph {
  const found = nodes.filter(isSearched).map(({ id }) => id);
  const ahead = reach(found, groupEdges(edges.map(({ from, to }) => [from, to])));
  const back = reach(found, groupEdges(edges.map(({ from, to }) => [to, from])));
  const isKept = (id: string) => ahead.has(id) || back.has(id);
  return {
    target,
    nodes: nodes.filter(({ id }) => isKept(id)),
    edges: edges.filter(
      ({ from, to }) => (ahead.has(from) && ahead.has(to)) || (back.has(from) && back.has(to)),
    ),
  };
}

function groupEdges(
  pairs: readonly (readonly [string, string])[],
): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const [from, to] of pairs) {
    const group = groups.get(from);
    if (group === undefined) groups.set(from, [to]);
    else group.push(to);
  }
  return groups;
}

function reach(
  starts: readonly string[],
  ways: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const reached = new Set(starts);
  // A set that is being iterated includes what is added to it meanwhile.
  for (const id of reached) for (const next of ways.get(id) ?? []) reached.add(next);
  return reached;
}
