import { showName } from '../../../../src/util/text';
import type { GraphEdge, GraphNode, GraphState, MeshGraph } from './mesh-graph';
import { percent, signed, type Change } from './words';

/** A colour for each state, dark enough for text on white; the same as those of the live page. */
const COLORS: Readonly<Record<GraphState, string>> = {
  ready: '#1a7f37',
  idle: '#57606a',
  unknown: '#57606a',
  waiting: '#9a6700',
  unused: '#8c959f',
  draining: '#9a6700',
  degraded: '#9a6700',
  'over-limit': '#bc4c00',
  ejected: '#bc4c00',
  failing: '#cf222e',
};

/** A colour for each change. */
const CHANGES: Readonly<Record<Change, string>> = {
  added: '#1a7f37',
  removed: '#cf222e',
  changed: '#9a6700',
};
const UNCHANGED = '#8c959f';

/** Characters that are shown of the text of a node or an edge. */
const MAX_TEXT = 1024;

/** A graph as it is written: its texts are cut, and control characters in them are escaped. */
export interface ShownGraph extends MeshGraph {
  /** Returns the colour of a node, as `#rrggbb`: that of its state, or of its change in a comparison. */
  readonly colorOf: (node: GraphNode) => string;
}

/** Prepares a graph for a writer. The names of what was changed have a sign in front. */
export function showGraph({ target, nodes, edges }: MeshGraph): ShownGraph {
  const isCompared = [...nodes, ...edges].some(({ change }) => change !== undefined);
  const showText = (text: string) => showName(text, MAX_TEXT);
  return {
    target: showName(target),
    nodes: nodes.map((node) => ({
      ...node,
      name: signed(node.change, showName(node.name)),
      text: showText(node.since === undefined ? node.text : `${node.text} (since ${node.since})`),
    })),
    edges: edges.map((edge) => ({ ...edge, text: showText(edge.text) })),
    colorOf: ({ state, change }) => {
      if (!isCompared) return COLORS[state];
      return change === undefined ? UNCHANGED : CHANGES[change];
    },
  };
}

/** Returns the colour of an edge that was changed, as `#rrggbb`. */
export function changeColor({ change }: Pick<GraphEdge, 'change'>): string | undefined {
  return change && CHANGES[change];
}

/** Writes a graph as a tree for people. A node that is reached in several ways has what is below it where it is reached first. */
export function toTree(graph: MeshGraph): string {
  const { nodes, edges } = showGraph(graph);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const shown = new Set<string>();
  const lines: string[] = [];
  const write = (node: GraphNode, edge: GraphEdge | undefined, depth: number) => {
    const way = edge === undefined ? '' : edgeLabel(edge);
    const facts = [way, node.state, node.text].filter((part) => part !== '').join('; ');
    const again = shown.has(node.id) && node.column !== 'endpoint' ? ' (see above)' : '';
    lines.push(`${'  '.repeat(depth)}${node.name}  [${facts}]${again}`);
    if (again !== '') return;
    shown.add(node.id);
    for (const next of edges) {
      const to = next.from === node.id ? byId.get(next.to) : undefined;
      if (to !== undefined) write(to, next, depth + 1);
    }
  };
  const entered = new Set(edges.map(({ to }) => to));
  const isRoot = ({ id, column }: GraphNode) => column === 'target' || !entered.has(id);
  for (const node of nodes) if (isRoot(node)) write(node, undefined, 0);
  return lines.join('\n');
}

/** What a line says beside it: how it was changed, its share, or why it is not used. */
export function edgeLabel({
  share,
  isMeasured,
  text,
  change,
}: Pick<GraphEdge, 'share' | 'isMeasured' | 'text' | 'change'>): string {
  const of = isMeasured === true ? ' of the calls' : '';
  const part = share === undefined ? '' : percent(share) + of;
  return signed(change, [part, text].filter((part) => part !== '').join(', '));
}
