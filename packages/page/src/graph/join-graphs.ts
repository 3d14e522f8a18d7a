import { worseState, type GraphEdge, type GraphNode, type MeshGraph } from './mesh-graph';

/**
 * Joins the graphs of several targets. What they have in common, such as a cluster, is one node in the better of its states: what a
 * call of one target reaches is in use.
 */
export function joinGraphs(target: string, graphs: readonly MeshGraph[]): MeshGraph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  for (const graph of graphs) {
    // A route is that of one target, though its name may be that of another one too.
    const routes = new Set(graph.nodes.filter(isRoute).map(({ id }) => id));
    const idOf = (id: string) => (routes.has(id) ? `${graph.target} ${id}` : id);
    for (const node of graph.nodes) {
      const id = idOf(node.id);
      nodes.set(id, betterOf({ ...node, id }, nodes.get(id)));
    }
    for (const edge of graph.edges) {
      const [from, to] = [idOf(edge.from), idOf(edge.to)];
      const key = JSON.stringify([from, to]);
      edges.set(key, usedOf({ ...edge, from, to }, edges.get(key)));
    }
  }
  return { target, nodes: [...nodes.values()], edges: [...edges.values()] };
}

function isRoute({ column }: GraphNode): boolean {
  return column === 'route';
}

function betterOf(node: GraphNode, known: GraphNode | undefined): GraphNode {
  return known !== undefined && worseState(known.state, node.state) === node.state ? known : node;
}

function usedOf(edge: GraphEdge, known: GraphEdge | undefined): GraphEdge {
  return known?.isUsed === true ? known : edge;
}
