import { sankey, sankeyLinkHorizontal } from 'd3-sankey';
import { isOfControlPlane } from './control-plane-graph';
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
/** The width of a connection to a relay or a management server. */
const CONNECTION_WIDTH = 2;

type FindRate = NonNullable<LayoutOptions['findRate']>;

/**
 * Places the nodes of a graph in columns, such that lines cross little, and gives each line its width. What the process has its
 * resources from is below the calls.
 */
export function layOut(graph: MeshGraph, options: LayoutOptions = {}): Picture {
  const { calls, control } = splitFlows(graph);
  const ofCalls = calls.nodes.length === 0 ? EMPTY : layOutCalls(calls, options);
  if (control.nodes.length === 0) return ofCalls;
  const ofControl = layOutControlPlane(control, ofCalls.height, options);
  return {
    width: Math.max(ofCalls.width, ofControl.width),
    height: ofCalls.height + ofControl.height,
    nodes: [...ofCalls.nodes, ...ofControl.nodes],
    edges: [...ofCalls.edges, ...ofControl.edges],
  };
}

const EMPTY: Picture = { width: 0, height: 0, nodes: [], edges: [] };

/** Returns how many columns a graph needs beside each other. */
export function countLayers(graph: Pick<MeshGraph, 'nodes' | 'edges'>): number {
  const { calls, control } = splitFlows({ target: '', ...graph });
  const layers = [layersOf(calls), depthsOf(control)].flatMap((each) => [...each.values()]);
  return Math.max(1 + largest(layers), 2);
}

/** Separates the ways of calls from what the process has its resources from. */
function splitFlows({ target, nodes, edges }: MeshGraph): {
  readonly calls: MeshGraph;
  readonly control: MeshGraph;
} {
  const isControl = new Set(
    nodes.filter((each) => isOfControlPlane(each.column)).map(({ id }) => id),
  );
  const part = (isPart: (id: string) => boolean) => ({
    target,
    nodes: nodes.filter(({ id }) => isPart(id)),
    edges: edges.filter(({ from }) => isPart(from)),
  });
  if (isControl.size === 0) return { calls: { target, nodes, edges }, control: part(() => false) };
  return { calls: part((id) => !isControl.has(id)), control: part((id) => isControl.has(id)) };
}

/** Connections have no width: each column is spread over the height. @param top Where the flow begins. */
function layOutControlPlane(
  { nodes, edges }: MeshGraph,
  top: number,
  { columnWidth = 260, rowHeight = 34 }: LayoutOptions,
): Picture {
  const depths = depthsOf({ nodes, edges });
  const rows = countEach(depths.values());
  const height = largest(rows.values()) * rowHeight;
  const placed = new Map<string, PlacedNode>();
  const next = new Map<number, number>();
  for (const node of nodes) {
    const depth = depths.get(node.id) ?? 0;
    const row = next.get(depth) ?? 0;
    next.set(depth, row + 1);
    const middle = top + ((row + 0.5) * height) / (rows.get(depth) ?? 1);
    placed.set(node.id, {
      ...node,
      x: MARGIN + depth * columnWidth,
      y: middle - NODE_WIDTH / 2,
      width: NODE_WIDTH,
      height: NODE_WIDTH,
    });
  }
  const line = sankeyLinkHorizontal<GraphNode, GraphEdge>();
  return {
    width: widthOf(1 + largest(rows.keys()), columnWidth),
    height: height + MARGIN,
    nodes: [...placed.values()],
    edges: edges.flatMap((edge) => {
      const [from, to] = [placed.get(edge.from), placed.get(edge.to)];
      if (from === undefined || to === undefined) return [];
      const ends = { source: { ...from, x1: from.x + NODE_WIDTH }, target: { ...to, x0: to.x } };
      const [y0, y1] = [from.y + NODE_WIDTH / 2, to.y + NODE_WIDTH / 2];
      const path = line({ ...edge, ...ends, y0, y1, value: 1 }) ?? '';
      return [{ ...edge, path, width: CONNECTION_WIDTH }];
    }),
  };
}

/** How many connections are between a node and a process, at most. Edges are in the order of their beginnings. */
function depthsOf({ nodes, edges }: Pick<MeshGraph, 'nodes' | 'edges'>): Map<string, number> {
  const depths = new Map(nodes.map(({ id }) => [id, 0]));
  for (const { from, to } of edges) {
    depths.set(to, Math.max(depths.get(to) ?? 0, (depths.get(from) ?? 0) + 1));
  }
  return depths;
}

function widthOf(layerCount: number, columnWidth: number): number {
  return (layerCount - 1) * columnWidth + NODE_WIDTH + columnWidth + 2 * MARGIN;
}

/** Places the nodes, and once more if what a cluster has would not be in the order of priorities, the first one at the top. */
function layOutCalls(graph: MeshGraph, options: LayoutOptions): Picture {
  const placed = placeCalls(graph, options);
  const order = options.compare === undefined ? sortPriorities(placed) : undefined;
  if (order === undefined) return placed;
  const compare = (a: GraphNode, b: GraphNode) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0);
  return placeCalls(graph, { ...options, compare });
}

/**
 * Returns the order of each column in which what a cluster has is in that of the graph, and what is below it is beside it; `undefined`
 * if it is so already.
 */
function sortPriorities({ nodes, edges }: Picture): ReadonlyMap<string, number> | undefined {
  const order = new Map(nodes.map(({ id, y }) => [id, y]));
  const { parents, leaves } = familiesOf({ nodes, edges });
  let isSame = true;
  for (const ids of leaves.values()) {
    const free = ids.map((id) => order.get(id) ?? 0).sort((a, b) => a - b);
    isSame &&= free.every((place, index) => place === order.get(ids[index] ?? ''));
    ids.forEach((id, index) => order.set(id, free[index] ?? 0));
  }
  const lowest = new Map<string | undefined, number>();
  for (const { id, column, y } of nodes) {
    if (column !== 'locality') continue;
    const parent = parents.get(id);
    isSame &&= y >= (lowest.get(parent) ?? 0);
    lowest.set(parent, y);
  }
  // Lines of other clusters may cross: the layout has its reasons.
  if (isSame) return undefined;
  const parentOf = ({ id }: GraphNode) => order.get(parents.get(id) ?? '') ?? Infinity;
  for (const column of ['locality', 'endpoint']) {
    const own = nodes.filter((node) => node.column === column);
    // Localities are in the order of their priorities, and endpoints of a locality in any.
    if (column === 'endpoint') own.sort((a, b) => a.y - b.y);
    own.sort((a, b) => Math.sign(parentOf(a) - parentOf(b)) || 0);
    own.forEach(({ id }, index) => order.set(id, index));
  }
  return order;
}

/** The cluster or locality above each node, and the clusters below each. */
function familiesOf({ nodes, edges }: Pick<Picture, 'nodes' | 'edges'>) {
  const columns = new Map(nodes.map(({ id, column }) => [id, column]));
  const parents = new Map<string, string>();
  const leaves = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const column = columns.get(from);
    // What several clusters have is among those of the first one.
    if ((column !== 'cluster' && column !== 'locality') || parents.has(to)) continue;
    parents.set(to, from);
    if (columns.get(to) !== 'cluster') continue;
    const own = leaves.get(from);
    if (own === undefined) leaves.set(from, [to]);
    else own.push(to);
  }
  return { parents, leaves };
}

function placeCalls(graph: MeshGraph, options: LayoutOptions): Picture {
  const { findRate = () => undefined, columnWidth = 260, rowHeight = 34 } = options;
  const layers = layersOf(graph);
  const flows = flowsOf(graph, layers, findRate);
  const rows = countEach(layers.values());
  const layerCount = Math.max(1 + largest(rows.keys()), 2);
  const ruler = createRuler(graph, layers, layerCount);
  const width = widthOf(layerCount, columnWidth);
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
      ...edge,
      source: edge.from,
      target: edge.to,
      value: Math.max(flows.get(edge) ?? 0, MIN_FLOW),
    })),
  });
  const line = sankeyLinkHorizontal<GraphNode, GraphEdge>();
  return {
    width,
    height,
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
  const layers = {
    target: 0,
    route: 1,
    cluster: 2,
    locality: 3 + shift,
    endpoint: 4 + shift,
    client: 0,
    address: 1,
    chain: 2,
    outcome: 3,
    process: 0,
    relay: 1,
    'management server': 2,
  };
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
  for (const { id, column, dropped = 0 } of nodes.toSorted((a, b) => layerOf(a) - layerOf(b))) {
    const entered = column === 'target' || column === 'client' ? 1 : (arriving.get(id) ?? 0);
    const flow = entered * (1 - dropped);
    const own = outgoing.get(id) ?? [];
    const rates = own.map(findRate);
    const total = rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0);
    const weights = own.map(configured);
    const sum = weights.reduce((all, weight) => all + weight, 0);
    own.forEach((edge, index) => {
      const part = total > 0 ? (rates[index] ?? 0) / total : (weights[index] ?? 0) / (sum || 1);
      flows.set(edge, flow * part);
      arriving.set(edge.to, (arriving.get(edge.to) ?? 0) + flow * part);
    });
  }
  return flows;
}

/** What is not used now leaves its share to the others. */
function configured({ share, evenShare, isUsed }: GraphEdge): number {
  return isUsed ? (share ?? evenShare ?? 1) : 0;
}
