import type { GraphEdge, GraphNode, GraphState, MeshGraph } from './mesh-graph';

/** A colour for each state, dark enough for text on white; the same as those of the live page. */
const COLORS: Readonly<Record<GraphState, string>> = {
  ok: '#1a7f37',
  idle: '#57606a',
  unused: '#8c959f',
  draining: '#9a6700',
  'over-limit': '#bc4c00',
  ejected: '#bc4c00',
  failing: '#cf222e',
};

/** Returns the colour of a state, as `#rrggbb`. */
export function stateColor(state: GraphState): string {
  return COLORS[state];
}

/** Writes a graph as a tree for people. A node that is reached in several ways has what is below it where it is reached first. */
export function toTree({ nodes, edges }: MeshGraph): string {
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
  for (const node of nodes) if (node.column === 'target') write(node, undefined, 0);
  return lines.join('\n');
}

/** Writes a graph in the language of Graphviz. */
export function toDot({ target, nodes, edges }: MeshGraph): string {
  const ids = numbered(nodes);
  const lines = [
    ...[`digraph ${dotText(target)} {`, '  rankdir=LR;'],
    '  node [shape=box, style=rounded, fontname="Helvetica"];',
    ...nodes.map(
      (node) =>
        `  ${ids.get(node.id)} [label=${dotText(label(node))}, color="${COLORS[node.state]}"];`,
    ),
    ...edges.map((edge) => {
      const style = edge.isUsed ? '' : ', style=dashed';
      return `  ${ids.get(edge.from)} -> ${ids.get(edge.to)} [label=${dotText(edgeLabel(edge))}${style}];`;
    }),
    '}',
  ];
  return lines.join('\n');
}

/** Writes a graph as a flowchart of Mermaid. */
export function toMermaid({ nodes, edges }: MeshGraph): string {
  const ids = numbered(nodes);
  const lines = [
    'flowchart LR',
    ...nodes.map((node) => `  ${ids.get(node.id)}["${mermaidText(label(node))}"]:::${node.state}`),
    ...edges.map((edge) => {
      const arrow = edge.isUsed ? '-->' : '-.->';
      const text = edgeLabel(edge);
      const shown = text === '' ? '' : `|"${mermaidText(text)}"|`;
      return `  ${ids.get(edge.from)} ${arrow}${shown} ${ids.get(edge.to)}`;
    }),
    ...Object.entries(COLORS).map(([state, color]) => `  classDef ${state} stroke:${color}`),
  ];
  return lines.join('\n');
}

/** Names of resources have any characters; ids of a graph language do not. */
function numbered(nodes: readonly GraphNode[]): ReadonlyMap<string, string> {
  return new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
}

function label({ name, state, text }: GraphNode): string {
  const shown =
    state === 'ok' || state === 'idle' ? text : [state, text].filter(Boolean).join(': ');
  return shown === '' ? name : `${name}\n${shown}`;
}

/** What a line says beside it: its share, or why it is not used. */
export function edgeLabel({ share, text }: Pick<GraphEdge, 'share' | 'text'>): string {
  const percent = share === undefined ? '' : `${Number((100 * share).toFixed(2))} %`;
  return [percent, text].filter((part) => part !== '').join(', ');
}

function dotText(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** Mermaid knows entities of HTML with a # in place of the &. */
function mermaidText(text: string): string {
  const escaped = text.replace(/[^\w .,:/()%\n-]/gu, (char) => `#${char.codePointAt(0)};`);
  return escaped.replaceAll('\n', '<br/>');
}
