import { cutText } from '../../../../src/util/text';
import { changeColor, edgeLabel, showGraph, type ShownGraph } from './graph-text';
import { layOut, type PlacedEdge, type PlacedNode } from './layout';
import type { MeshGraph } from './mesh-graph';

/** The number of characters of a name that fit between two columns. */
const MAX_NAME_LENGTH = 34;

/** Writes a graph as a picture. Names are shortened in it; the whole ones are its titles, which a browser shows on hover. */
export function toSvg(graph: MeshGraph): string {
  const shown = showGraph(graph);
  const { width, height, nodes, edges } = layOut(shown);
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
      `aria-label="${xmlText(shown.target)}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...edges.map(edgeElement),
    ...nodes.flatMap((node) => nodeElements(node, shown)),
    '</svg>',
  ];
  return lines.join('\n');
}

function edgeElement({ path, width, isUsed, ...edge }: PlacedEdge, index: number): string {
  const dashes = isUsed ? '' : ' stroke-dasharray="4 4"';
  const color = changeColor(edge);
  const label = xmlText(edgeLabel(edge));
  const stroke = `stroke="${color ?? (isUsed ? '#54aeff' : '#8c959f')}"`;
  const line =
    `<path id="edge${index}" d="${path}" fill="none" ${stroke} stroke-opacity="0.5" stroke-width="${round(width)}"${dashes}>` +
    `<title>${label}</title></path>`;
  if (color === undefined) return line;
  // Its sign is beside it: colours alone are not seen by everyone.
  const place = `href="#edge${index}" startOffset="50%" text-anchor="middle"`;
  return `${line}<text fill="${color}"><textPath ${place}>${label}</textPath></text>`;
}

function nodeElements(node: PlacedNode, { colorOf }: ShownGraph): readonly string[] {
  const { x, y, width, height, name, state, text } = node;
  const title = [name, state, text].filter((part) => part !== '').join('\n');
  const shown = cutText(name, MAX_NAME_LENGTH);
  const place = `x="${round(x + width + 4)}" y="${round(y + height / 2)}" dy="0.35em"`;
  return [
    `<g><title>${xmlText(title)}</title>`,
    `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="2" fill="${colorOf(node)}"/>`,
    `<text ${place} fill="#1f2328">${xmlText(shown)}</text></g>`,
  ];
}

function round(value: number): number {
  return Number(value.toFixed(1));
}

/** Characters that XML does not allow, even as entities, are replaced: those besides control characters. */
function xmlText(text: string): string {
  return text
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replace(/[<>&"]/g, (char) => `&#${char.codePointAt(0)};`);
}
