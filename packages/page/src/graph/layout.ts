import { cutText } from '../../../../src/util/text';
import { isOfControlPlane } from './control-plane-graph';
import { groupBy } from './group-by';
import type { GraphEdge, GraphNode, MeshGraph } from './mesh-graph';
import { findWeightFlows } from './weight-flows';
import { urgencyOf } from './urgency';
import { describeState, joinFirst } from './words';

/** A node with its box, in pixels. */
export interface PlacedNode extends GraphNode {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An edge with its line, whose width is the traffic that it has, or would have. */
export interface PlacedEdge extends GraphEdge {
  /** The `d` of an SVG path, which ends where an arrowhead has room before the box. */
  readonly path: string;
  readonly width: number;
  /** Where a text about it ends that no other line crosses; absent where there is no room for one. */
  readonly label?: { readonly x: number; readonly y: number };
}

/** What the boxes below it are. */
export interface PlacedHeading {
  readonly text: string;
  readonly x: number;
  /** The base line of the text. */
  readonly y: number;
}

/** A graph with places. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  /** In a narrow picture, those of the boxes that several lead to. */
  readonly headings: readonly PlacedHeading[];
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  /** The calls a second of the widest line; undefined where widths are the shares that weights give. */
  readonly widestRate: number | undefined;
}

/** How a graph is laid out. */
export interface LayoutOptions {
  /** The width that there is, in pixels. Default: as much as is needed. */
  readonly room?: number;
  /** How many calls a second take an edge. Undefined where that is not known, which is the default: the configured weights count. */
  readonly findRate?: (edge: GraphEdge) => number | undefined;
}

const MARGIN = 8;
/** The room of a heading, and its base line in it. */
const HEADING = 18;
const HEADING_LINE = 11;
const BOX_HEIGHT = 40;
/**
 * That of a box with two lines of text below its name.
 *
 * @public The scripts of the page import it.
 */
export const TALL_HEIGHT = 56;
/** How much more than a line these have room for: they break between words. */
const TWO_LINES = 1.7;
/** Between two boxes of a column, and of a narrow picture. */
const SPACE = 10;
const SPACE_BELOW = 6;
/** Between two columns, and the part of it in which lines are straight: the numbers are there. */
const MIN_GAP = 56;
const MAX_GAP = 140;
const STRAIGHT = 42;
const MIN_BOX = 88;
const MAX_BOX = 240;
const CHARACTER = 7;
/** What a box has beside its name, and beside the text below it. */
const SIDES = 36;
const BESIDE_TEXT = 12;
/** Edges that lead to one box are this far apart, so that a number fits above each. */
const PORT_HEIGHT = 16;
/** Of more edges that lead to a box, none has a number. */
const MAX_LABELS = 8;
/** @public The scripts of the page import it. */
export const MAX_WIDTH = 8;
const MIN_WIDTH = 1.5;
/** The length of an arrowhead. */
const ARROW = 6;
/** A picture that is narrower than this goes from top to bottom. */
const NARROW = 640;
const INDENT = 14;
/** Boxes that are named above one that they lead to, and the width of a character there. */
const MAX_SOURCES = 3;
const SMALL_CHARACTER = 6.5;

/** Places the nodes of a graph: in columns from left to right or, where there is little room, one below the other. */
export function layOut(graph: MeshGraph, options: LayoutOptions = {}): Picture {
  const { room = Infinity } = options;
  const order = sortLayers(graph);
  const place = room < NARROW ? placeBelow : placeBeside;
  const { nodes, ...size } = place(graph, order, room);
  const { flows, widestRate } = flowsOf(graph, options.findRate);
  return {
    ...size,
    nodes: graph.nodes.flatMap(({ id }) => nodes.get(id) ?? []),
    edges: drawEdges(graph, nodes, flows, room),
    widestRate,
  };
}

/** Nodes by their ids, and how much room they take. */
interface Places {
  readonly width: number;
  readonly height: number;
  readonly headings: readonly PlacedHeading[];
  readonly nodes: ReadonlyMap<string, PlacedNode>;
}

/** The nodes of each layer, from left to right, in their order from top to bottom. */
type Layers = readonly (readonly GraphNode[])[];

/** From left to right. What a process has its resources from begins where its calls do. */
const LAYERS = {
  client: 0,
  address: 1,
  service: 2,
  chain: 2,
  outcome: 3,
  target: 3,
  route: 4,
  cluster: 5,
  locality: 7,
  endpoint: 8,
  process: 0,
  relay: 1,
  'management server': 2,
} as const;

/** Returns how much a node, or the worst of what it leads to, needs a look. */
function findUrgency({ nodes, edges }: MeshGraph): (id: string) => number {
  const outgoing = groupBy(edges, ({ from }) => from);
  const known = new Map(nodes.map((node) => [node.id, urgencyOf(node)]));
  const seen = new Set<string>();
  const worstFrom = (id: string): number => {
    const own = known.get(id) ?? 0;
    // An aggregate cluster may not contain itself, but resources may say so.
    if (seen.has(id)) return own;
    seen.add(id);
    const below = (outgoing.get(id) ?? []).map(({ to }) => worstFrom(to));
    const worst = below.reduce((most, each) => Math.max(most, each), own);
    known.set(id, worst);
    return worst;
  };
  return worstFrom;
}

/**
 * Returns what is in each layer: what a node leads to is beside that of the node before it. What fails is at the top, then comes the
 * order of the edges, in which priorities are. What the process has its resources from is below the calls.
 */
function sortLayers(graph: MeshGraph): Layers {
  const { nodes, edges } = graph;
  const worstFrom = findUrgency(graph);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const leaves = new Set<string>();
  // The first one that leads to a node counts, a cluster before a route: it may be the leaf of an aggregate.
  const parents = new Map<string, string>();
  const ranks = new Map<string, number>();
  edges.forEach(({ from, to }, rank) => {
    const isLeaf = byId.get(from)?.column === 'cluster' && byId.get(to)?.column === 'cluster';
    if (parents.has(to) && !(isLeaf && !leaves.has(to))) return;
    if (isLeaf) leaves.add(to);
    parents.set(to, from);
    ranks.set(to, rank);
  });
  const calls = nodes.filter(({ column }) => !isOfControlPlane(column));
  const first = calls.reduce((least, { column }) => Math.min(least, LAYERS[column]), Infinity);
  const hasRelay = nodes.some(({ column }) => column === 'relay');
  const layers = groupBy(nodes, ({ id, column }) => {
    if (!isOfControlPlane(column)) return LAYERS[column] + (leaves.has(id) ? 1 : 0);
    const own = column === 'management server' && !hasRelay ? LAYERS.relay : LAYERS[column];
    return calls.length === 0 ? own : first + own;
  });
  const places = new Map<string, number>();
  const sorted = [...layers].sort(([a], [b]) => a - b).map(([, layer]) => layer);
  for (const layer of sorted) {
    const keyOf = (node: GraphNode) => [
      isOfControlPlane(node.column) ? 1 : 0,
      places.get(parents.get(node.id) ?? '') ?? 0,
      -worstFrom(node.id),
      ranks.get(node.id) ?? 0,
    ];
    const keys = new Map(layer.map((node) => [node, keyOf(node)]));
    layer.sort((a, b) => compareKeys(keys.get(a) ?? [], keys.get(b) ?? []));
    layer.forEach(({ id }, place) => places.set(id, place));
  }
  return sorted;
}

function compareKeys(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((key, i) => key !== b[i]);
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}

function placeBeside({ edges }: MeshGraph, layers: Layers, room: number): Places {
  const incoming = groupBy(edges, ({ to }) => to);
  const outgoing = groupBy(edges, ({ from }) => from);
  const nodes = new Map<string, PlacedNode>();
  const middleOf = (id: string) => {
    const node = nodes.get(id);
    return node && node.y + node.height / 2;
  };
  const headings: PlacedHeading[] = [];
  let [top, bottom, widest] = [MARGIN, 0, 0];
  for (const isControl of [false, true]) {
    const part = layers.map((layer) =>
      layer.filter(({ column }) => isOfControlPlane(column) === isControl),
    );
    const { columns, width } = placeColumns(part, room);
    widest = Math.max(widest, width);
    part.forEach((own, i) => {
      const text = [...new Set(own.map(({ column }) => column))].join(', ');
      if (text !== '') headings.push({ text, x: columns[i]?.x ?? 0, y: top + HEADING_LINE });
    });
    if (headings.some(({ y }) => y > top)) top += HEADING;
    // From right to left: a box stands in the middle of what it leads to, as far as there is room.
    for (let layer = layers.length - 1; layer >= 0; layer--) {
      let y = top;
      for (const node of part[layer] ?? []) {
        const ports = Math.min(incoming.get(node.id)?.length ?? 0, MAX_LABELS);
        const height = heightOf(node, columns[layer]?.width ?? MIN_BOX, ports);
        const below = (outgoing.get(node.id) ?? []).flatMap(({ to }) => middleOf(to) ?? []);
        below.sort((a, b) => a - b);
        const middle = ((below[0] ?? 0) + (below.at(-1) ?? 0)) / 2;
        y = Math.max(y, middle - height / 2);
        nodes.set(node.id, { ...node, x: 0, width: 0, ...columns[layer], y, height });
        y += height + SPACE;
      }
      bottom = Math.max(bottom, y);
    }
    top = bottom;
  }
  return { width: widest, height: bottom, headings, nodes };
}

/** The room for text in a box; a tall one has two lines of it. */
interface BoxSize {
  readonly width: number;
  readonly height?: number;
}

/**
 * What a box says below its name: its state, with the text as far as that is short and the box has room for it. An error is no such
 * text: it would be the same in many boxes.
 *
 * @param size Default: as much as is needed.
 * @public The scripts of the page import it.
 */
export function boxText(
  { column, state, flaw, text }: Pick<GraphNode, 'column' | 'state' | 'flaw' | 'text'>,
  size: BoxSize = { width: MAX_BOX },
): string {
  const isDescribed = column !== 'target' && column !== 'route' && column !== 'endpoint';
  const both = describeState(state, flaw);
  const whole = `${both}, ${text}`;
  if (isDescribed && text !== '' && fits(whole, size)) return whole;
  return flaw === undefined || fits(both, size) ? both : flaw;
}

/**
 * Adds to the text of a box as many of its rates as it has room for. Beside them, the mark alone says `ready`.
 *
 * @public The scripts of the page import it.
 */
export function withRates(
  text: string,
  rates: readonly string[],
  size: BoxSize,
): { readonly words: string; readonly rates: string } {
  const words = text === 'ready' ? '' : text;
  let shown = words;
  for (const rate of rates) {
    const more = shown === '' ? rate : `${shown}, ${rate}`;
    if (fits(more, size)) shown = more;
  }
  return { words: shown === '' ? text : words, rates: shown.slice(words.length) };
}

function fits(shown: string, { width, height = 0 }: BoxSize): boolean {
  const room = height >= TALL_HEIGHT ? TWO_LINES * width : width;
  return shown.length * CHARACTER + BESIDE_TEXT <= room;
}

/** @param ports The lines that lead to it with a number each. */
function heightOf(node: GraphNode, width: number, ports: number): number {
  const isTall = urgencyOf(node) > 0 && !fits(boxText(node), { width });
  return Math.max(isTall ? TALL_HEIGHT : BOX_HEIGHT, (ports + 1) * PORT_HEIGHT);
}

/** The width of a column for texts of so many characters. */
function widthOf(layer: readonly GraphNode[], lengthOf: (node: GraphNode) => number): number {
  const longest = layer.reduce((most, node) => Math.max(most, lengthOf(node)), 0);
  return Math.min(Math.max(longest * CHARACTER + SIDES, MIN_BOX), MAX_BOX);
}

/** Columns are as wide as their names as far as there is room, then as wide as their texts; what is left is between them. */
function placeColumns(
  layers: Layers,
  room: number,
): {
  readonly columns: readonly { readonly x: number; readonly width: number }[];
  readonly width: number;
} {
  const gaps = Math.max(layers.length - 1, 1);
  const free = room - 2 * MARGIN - gaps * MIN_GAP;
  // What is wrong is read as well as a name, in two lines. It has no mark beside it.
  const urgentLength = (node: GraphNode) =>
    urgencyOf(node) > 0 ? boxText(node).length / TWO_LINES - 3 : 0;
  const names = layers.map((layer) =>
    widthOf(layer, (node) => Math.max(node.name.length, urgentLength(node))),
  );
  const sumOf = (most: number) => names.reduce((sum, width) => sum + Math.min(width, most), 0);
  // The widest give way to the others.
  let limit = MAX_BOX;
  while (limit > MIN_BOX && sumOf(limit) > free) limit--;
  const more = layers.map((layer, i) =>
    Math.max(0, widthOf(layer, (node) => boxText(node).length) - (names[i] ?? 0)),
  );
  const wished = more.reduce((sum, width) => sum + width, 0);
  const part = Math.min(1, Math.max(0, free - sumOf(limit)) / (wished || 1));
  const widths = names.map((width, i) => Math.min(width, limit) + part * (more[i] ?? 0));
  const all = widths.reduce((sum, width) => sum + width, 0);
  const gap = Math.min(Math.max((room - 2 * MARGIN - all) / gaps, MIN_GAP), MAX_GAP);
  let x = MARGIN;
  const columns = widths.map((width) => {
    const column = { x, width };
    x += column.width + gap;
    return column;
  });
  return { columns, width: Math.max(x - gap, MARGIN) + MARGIN };
}

/** Each box has a line of its own below the one that leads to it. What several lead to comes after them all, below their names. */
function placeBelow({ edges }: MeshGraph, layers: Layers, room: number): Places {
  const order = new Map(layers.flat().map((node, index) => [node.id, { node, index }]));
  const outgoing = groupBy(edges, ({ from }) => from);
  const incoming = groupBy(edges, ({ to }) => to);
  const nodes = new Map<string, PlacedNode>();
  const headings: PlacedHeading[] = [];
  let y = MARGIN;
  const pending = new Map([...incoming].map(([id, own]) => [id, own.length]));
  const shared: string[] = [];
  const place = (id: string) => {
    const own = order.get(id);
    if (own === undefined || nodes.has(id)) return;
    const sources = (incoming.get(id) ?? []).flatMap(({ from }) => nodes.get(from) ?? []);
    const x = sources.reduce((most, source) => Math.max(most, source.x + INDENT), MARGIN);
    const width = room - x - MARGIN;
    if (sources.length > 1) addHeading(sources, x, width);
    nodes.set(id, { ...own.node, x, y, width, height: BOX_HEIGHT });
    y += BOX_HEIGHT + SPACE_BELOW;
    const below = (outgoing.get(id) ?? []).map(({ to }) => to);
    below.sort((a, b) => (order.get(a)?.index ?? 0) - (order.get(b)?.index ?? 0));
    for (const next of below) {
      const left = (pending.get(next) ?? 1) - 1;
      pending.set(next, left);
      if (incoming.get(next)?.length === 1) place(next);
      else if (left === 0) shared.push(next);
    }
  };
  const addHeading = (sources: readonly PlacedNode[], x: number, width: number) => {
    const names = joinFirst(
      sources.map(({ name }) => name),
      MAX_SOURCES,
    );
    const text = cutText(`from ${names}`, Math.floor(width / SMALL_CHARACTER));
    if (text === headings.at(-1)?.text) return;
    headings.push({ text, x, y: y + HEADING_LINE });
    y += HEADING;
  };
  const placeAll = (id: string) => {
    place(id);
    for (let next = shared.shift(); next !== undefined; next = shared.shift()) place(next);
  };
  for (const id of order.keys()) if (!pending.has(id)) placeAll(id);
  for (const id of order.keys()) placeAll(id);
  return { width: room, height: y, headings, nodes };
}

function drawEdges(
  { edges }: MeshGraph,
  nodes: Places['nodes'],
  flows: ReadonlyMap<GraphEdge, number>,
  room: number,
): readonly PlacedEdge[] {
  const middleOf = ({ from }: GraphEdge) =>
    (nodes.get(from)?.y ?? 0) + (nodes.get(from)?.height ?? 0) / 2;
  const incoming = groupBy(edges, ({ to }) => to);
  const ports = new Map<GraphEdge, number>();
  for (const own of incoming.values()) {
    own.sort((a, b) => middleOf(a) - middleOf(b));
    own.forEach((edge, index) => ports.set(edge, (index + 1) / (own.length + 1)));
  }
  return edges.flatMap((edge) => {
    const [from, to] = [nodes.get(edge.from), nodes.get(edge.to)];
    if (from === undefined || to === undefined) return [];
    const width = Math.max(MIN_WIDTH, MAX_WIDTH * (flows.get(edge) ?? 0));
    const end = { x: to.x - ARROW, y: to.y + to.height * (ports.get(edge) ?? 0.5) };
    if (room < NARROW) {
      const x = from.x + INDENT / 2;
      const corner = `${round(x)},${round(end.y)}`;
      const start = end.y < from.y ? from.y : from.y + from.height;
      const path = `M${round(x)},${round(start)}C${corner},${corner},${round(end.x)},${round(end.y)}`;
      return [{ ...edge, path, width: Math.min(width, INDENT / 3) }];
    }
    const start = { x: from.x + from.width, y: middleOf(edge) };
    const turn = round(end.x - STRAIGHT);
    const middle = round((start.x + turn) / 2);
    const [y1, y2] = [round(start.y), round(end.y)];
    const path =
      `M${round(start.x)},${y1}C${middle},${y1},${middle},${y2},${turn},${y2}` +
      `C${turn},${y2},${round(end.x)},${y2},${round(end.x)},${y2}`;
    const hasLabel = (incoming.get(edge.to)?.length ?? 0) <= MAX_LABELS;
    // On its own line, which it interrupts: beside it, it could be that of the next one.
    const label = { x: end.x - 9, y: end.y + 4 };
    return [{ ...edge, path, width, ...(hasLabel && { label }) }];
  });
}

function round(value: number): number {
  return Number(value.toFixed(1));
}

/** Returns how wide each edge is, from 0 to 1 for the widest: by the calls that are counted or, without any, by the weights. */
function flowsOf(
  { nodes, edges }: MeshGraph,
  findRate: LayoutOptions['findRate'] = () => undefined,
): { readonly flows: ReadonlyMap<GraphEdge, number>; readonly widestRate: number | undefined } {
  const control = new Set(
    nodes.filter(({ column }) => isOfControlPlane(column)).map(({ id }) => id),
  );
  // What leads to a management server is no share of anything.
  const calls = edges.filter(({ from }) => !control.has(from));
  const ofEach = (find: (edge: GraphEdge) => number) =>
    new Map(calls.map((edge) => [edge, find(edge)]));
  const highest = (all: ReadonlyMap<GraphEdge, number>) =>
    [...all.values()].reduce((most, each) => Math.max(most, each), 0);
  const rates = ofEach((edge) => findRate(edge) ?? 0);
  const widestRate = highest(rates) || undefined;
  const all =
    widestRate === undefined ? ofEach(findWeightFlows({ edges: calls }, true).ofEdge) : rates;
  const widest = highest(all) || 1;
  return { flows: ofEach((edge) => (all.get(edge) ?? 0) / widest), widestRate };
}

/** What a name is cut after: what is left of it begins with a word, also for those who read it aloud. */
const AFTER_SEPARATOR = /(?<=[/:.,-])(?![/:.,-])/g;

/**
 * Returns where each name may be cut at its beginning: after the separators in what it has in common with another one. The last is
 * where it begins to differ.
 *
 * @public The scripts of the page import it.
 */
export function findCuts(names: Iterable<string>): ReadonlyMap<string, readonly number[]> {
  const sorted = [...new Set(names)].sort();
  return new Map(
    sorted.map((name, index) => {
      const [before = '', after = ''] = [sorted[index - 1], sorted[index + 1]];
      const common = Math.max(countCommon(name, before), countCommon(name, after));
      const cuts = Array.from(name.matchAll(AFTER_SEPARATOR), (match) => match.index);
      return [name, cuts.filter((cut) => cut <= common && cut < name.length)];
    }),
  );
}

function countCommon(a: string, b: string): number {
  let count = 0;
  while (count < a.length && a[count] === b[count]) count++;
  return count;
}
