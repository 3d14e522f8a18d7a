import { edgeLabel, stateColor } from './graph-text';
import { layOut, type PlacedEdge, type PlacedNode } from './layout';
import type { MeshGraph } from './mesh-graph';

/** The number of characters of a name that fit between two columns. */
const MAX_NAME_LENGTH = 34;

/** Writes a graph as a picture. Names are shortened in it; the whole ones are its titles, which a browser shows on hover. */
export function toSvg(graph: MeshGraph): string {
  const { width, height, nodes, edges } = layOut(graph);
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
      `aria-label="${xmlText(graph.target)}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...edges.map(edgeElement),
    ...nodes.flatMap(nodeElements),
    '</svg>',
  ];
  return lines.join('\n');
}

function edgeElement({ path, width, isUsed, ...edge }: PlacedEdge): string {
  const dashes = isUsed ? '' : ' stroke-dasharray="4 4"';
  const color = isUsed ? '#54aeff' : '#8c959f';
  return (
    `<path d="${path}" fill="none" stroke="${color}" stroke-opacity="0.5" stroke-width="${round(width)}"${dashes}>` +
    `<title>${xmlText(edgeLabel(edge))}</title></path>`
  );
}

function nodeElements({ x, y, width, height, name, state, text }: PlacedNode): readonly string[] {
  const title = [name, state, text].filter((part) => part !== '').join('\n');
  const shown = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  const place = `x="${round(x + width + 4)}" y="${round(y + height / 2)}" dy="0.35em"`;
  return [
    `<g><title>${xmlText(title)}</title>`,
    `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="2" fill="${stateColor(state)}"/>`,
    `<text ${place} fill="#1f2328">${xmlText(shown)}</text></g>`,
  ];
}

function round(value: number): number {
  return Number(value.toFixed(1));
}

/** Characters that XML does not allow, even as entities, are shown as their code. */
function xmlText(text: string): string {
  return text
    .replace(/[^\t\n\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[<>&"]/g, (char) => `&#${char.codePointAt(0)};`);
}
