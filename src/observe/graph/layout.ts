import { sankey, sankeyLinkHorizontal } from 'd3-sankey';
import type { GraphEdge, GraphNode, MeshGraph } from './mesh-graph';

/** A node with its place, in pixels. */
export interface PlacedNode extends GraphNode {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An edge with its line, whose width is the traffic that it has, or would have. */
export interface PlacedEdge extends GraphEdge {
  /** The `d` of an SVG path. */
  readonly path: string;
  readonly width: number;
}

/** A graph with places. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

/** How a graph is laid out. */
export interface LayoutOptions {
  /** How many calls a second take a way. Undefined where that is not known, which is the default: the configured weights count. */
  readonly findRate?: (edge: GraphEdge) => number | undefined;
  /** The order of the nodes of a column from top to bottom. Default: such that lines cross little. */
  readonly compare?: (a: GraphNode, b: GraphNode) => number;
  /** The distance of two columns, in pixels. Default 260. */
  readonly columnWidth?: number;
  /** The height that a node has room for, in pixels; a half of it is free. Default 34. */
  readonly rowHeight?: number;
  /** How often places are improved. Each time costs most of the layout where a node has hundreds of lines. Default 6. */
  readonly iterations?: number;
}

const NODE_WIDTH = 12;
/** Where the first column begins, and what the last one needs for its names. */
const MARGIN = 20;
/** The share of all calls that the thinnest line has: one without traffic is seen, too. */
const MIN_FLOW = 0.004;

type FindRate = NonNullable<LayoutOptions['findRate']>;

/** Places the nodes of a graph in columns, such that lines cross little, and gives each line its width. */
export function layOut(graph: MeshGraph, options: LayoutOptions = {}): Picture {
  const { findRate = () => undefined, columnWidth = 260, rowHeight = 34 } = options;
  const layers = layersOf(graph);
  const flows = flowsOf(graph, layers, findRate);
  const rows = countEach(layers.values());
  const layerCount = Math.max(1 + largest(rows.keys()), 2);
  const ruler = createRuler(graph, layers, layerCount);
  const width = (layerCount - 1) * columnWidth + NODE_WIDTH + columnWidth + 2 * MARGIN;
  const height = Math.max(largest(rows.values()), 3) * rowHeight + 2 * MARGIN;
  const layout = sankey<GraphNode, GraphEdge>()
    .nodeId(({ id }) => id)
    .nodeAlign(({ id }) => layers.get(id) ?? 0)
    .iterations(options.iterations ?? 6)
    .nodeSort(options.compare)
    .nodeWidth(NODE_WIDTH)
    .nodePadding(rowHeight / 2)
    .extent([
      [MARGIN, MARGIN],
      [MARGIN + (layerCount - 1) * columnWidth + NODE_WIDTH, height - MARGIN],
    ]);
  const placed = layout({
    nodes: [...graph.nodes.map((node) => ({ ...node })), ...ruler.nodes],
    links: [...graph.edges, ...ruler.edges].map((edge) => ({
      ...{ ...edge, source: edge.from, target: edge.to },
      value: Math.max(flows.get(edge) ?? 0, MIN_FLOW),
    })),
  });
  const line = sankeyLinkHorizontal<GraphNode, GraphEdge>();
  return {
    ...{ width, height },
    nodes: graph.nodes.map((node, index) => {
      const { x0 = 0, x1 = 0, y0 = 0, y1 = 0 } = placed.nodes[index] ?? {};
      return { ...node, x: x0, y: y0, width: x1 - x0, height: Math.max(y1 - y0, 2) };
    }),
    edges: graph.edges.map((edge, index) => {
      const link = placed.links[index];
      return { ...edge, path: (link && line(link)) ?? '', width: Math.max(link?.width ?? 0, 1) };
    }),
  };
}

/**
 * Creates nodes and edges that are not drawn, one for each layer, if the longest way through a graph is shorter than its layers are
 * many: d3-sankey has as many columns as the longest way has nodes.
 */
function createRuler(
  { edges }: MeshGraph,
  layers: Map<string, number>,
  layerCount: number,
): Pick<MeshGraph, 'nodes' | 'edges'> {
  const lengths = new Map<string, number>();
  const inOrder = edges.toSorted((a, b) => (layers.get(a.from) ?? 0) - (layers.get(b.from) ?? 0));
  for (const { from, to } of inOrder) {
    lengths.set(to, Math.max(lengths.get(to) ?? 1, (lengths.get(from) ?? 1) + 1));
  }
  if (largest(lengths.values()) >= layerCount) return { nodes: [], edges: [] };
  const ids = Array.from({ length: layerCount }, (_, layer) => `ruler ${layer}`);
  const node = { column: 'target', name: '', state: 'ok', text: '' } as const;
  ids.forEach((id, layer) => layers.set(id, layer));
  return {
    nodes: ids.map((id) => ({ id, ...node })),
    edges: ids
      .slice(1)
      .map((to, index) => ({ from: ids[index] ?? '', to, isUsed: false, text: '' })),
  };
}

function countEach(values: Iterable<number>): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function largest(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** The columns, with one more for the leaves of aggregate clusters, if there are any. */
function layersOf({ nodes, edges }: MeshGraph): Map<string, number> {
  const columns = new Map(nodes.map(({ id, column }) => [id, column]));
  const leaves = new Set<string>();
  for (const { from, to } of edges) {
    if (columns.get(from) === 'cluster' && columns.get(to) === 'cluster') leaves.add(to);
  }
  const shift = leaves.size > 0 ? 1 : 0;
  const layers = { target: 0, route: 1, cluster: 2, locality: 3 + shift, endpoint: 4 + shift };
  return new Map(nodes.map(({ id, column }) => [id, layers[column] + (leaves.has(id) ? 1 : 0)]));
}

/** The share of all calls that each edge has: as measured, or else as the weights say. */
function flowsOf(
  { nodes, edges }: MeshGraph,
  layers: ReadonlyMap<string, number>,
  findRate: FindRate,
): ReadonlyMap<GraphEdge, number> {
  const outgoing = new Map<string, GraphEdge[]>();
  for (const edge of edges) {
    const own = outgoing.get(edge.from);
    if (own === undefined) outgoing.set(edge.from, [edge]);
    else own.push(edge);
  }
  const layerOf = ({ id }: GraphNode) => layers.get(id) ?? 0;
  const arriving = new Map<string, number>();
  const flows = new Map<GraphEdge, number>();
  // The leaves of aggregate clusters come after these, whichever a route names first.
  for (const { id, column } of nodes.toSorted((a, b) => layerOf(a) - layerOf(b))) {
    const flow = column === 'target' ? 1 : (arriving.get(id) ?? 0);
    const own = outgoing.get(id) ?? [];
    const rates = own.map(findRate);
    const total = rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0);
    const used = own.filter(({ isUsed }) => isUsed).length;
    own.forEach((edge, index) => {
      const part = total > 0 ? (rates[index] ?? 0) / total : configured(edge, used);
      flows.set(edge, flow * part);
      arriving.set(edge.to, (arriving.get(edge.to) ?? 0) + flow * part);
    });
  }
  return flows;
}

function configured({ share, isUsed }: GraphEdge, used: number): number {
  return isUsed ? (share ?? 1 / used) : 0;
}
