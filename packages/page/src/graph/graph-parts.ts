import type { GraphEdge, GraphNode, MeshGraph } from './mesh-graph';

/** The nodes and edges of a graph that is being built. */
export class GraphParts {
  /** By their ids. One that is set again stays at its place. */
  readonly nodes = new Map<string, GraphNode>();
  readonly edges: GraphEdge[] = [];

  add(node: GraphNode): void {
    this.nodes.set(node.id, node);
  }

  connect(from: string, to: string, edge: Partial<GraphEdge> & { readonly isUsed: boolean }): void {
    this.edges.push({ from, to, text: '', ...edge });
  }

  graph(target: string): MeshGraph {
    return { target, nodes: [...this.nodes.values()], edges: this.edges };
  }
}
