import { cutText } from '../../../../src/util/text';
import { changeColor, edgeLabel, showGraph, type ShownGraph } from './graph-text';
import { layOut, type PlacedEdge, type PlacedNode } from './layout';
import type { MeshGraph } from './mesh-graph';

/** The number of characters of a name that fit into a box. */
const MAX_NAME_LENGTH = 32;
/** That of a text before one. */
const MAX_LABEL_LENGTH = 24;

/** Writes a graph as a picture. Names are shortened in it; the whole ones are its titles, which a browser shows on hover. */
export function toSvg(graph: MeshGraph): string {
  const shown = showGraph(graph);
  const { width, height, headings, nodes, edges } = layOut(shown);
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
      `aria-label="${xmlText(shown.target)}" font-family="sans-serif" font-size="12">`,
    '<marker id="arrow" viewBox="0 0 6 12" refY="6" markerWidth="6" markerHeight="12" markerUnits="userSpaceOnUse">' +
      '<path d="M0,0L6,6L0,12Z" fill="context-stroke"/></marker>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...headings.map(
      ({ text, x, y }) =>
        `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="11" fill="#57606a">${text}</text>`,
    ),
    ...edges.map(edgeElement),
    ...nodes.flatMap((node) => nodeElements(node, shown)),
    '</svg>',
  ];
  return lines.join('\n');
}

function edgeElement({ path, width, isUsed, label: place, ...edge }: PlacedEdge): string {
  const color = changeColor(edge);
  const label = edgeLabel(edge);
  const stroke = `stroke="${color ?? (isUsed ? '#54aeff' : '#8c959f')}"`;
  const dashes = isUsed ? '' : ' stroke-dasharray="4 4"';
  const line =
    `<path d="${path}" fill="none" ${stroke} stroke-width="${width.toFixed(1)}"${dashes} marker-end="url(#arrow)">` +
    `<title>${xmlText(label)}</title></path>`;
  if (place === undefined || label === '') return line;
  // It is longer than the number of a live page, which interrupts the line.
  const y = place.y - width / 2 - 7;
  const at = `x="${place.x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="end" font-size="11"`;
  return `${line}<text ${at} fill="${color ?? '#57606a'}">${xmlText(cutText(label, MAX_LABEL_LENGTH))}</text>`;
}

function nodeElements(node: PlacedNode, { colorOf }: ShownGraph): readonly string[] {
  const { x, y, width, height, name, state, text } = node;
  const title = [name, state, text].filter((part) => part !== '').join('\n');
  const color = colorOf(node);
  const box = `x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"`;
  const line = (dy: number, fill: string, shown: string) =>
    `<text x="${(x + 10).toFixed(1)}" y="${(y + height / 2 + dy).toFixed(1)}" fill="${fill}">${xmlText(shown)}</text>`;
  return [
    `<g><title>${xmlText(title)}</title>`,
    `<rect ${box} rx="4" fill="#f6f8fa" stroke="${color}"/>`,
    line(-4, '#1f2328', cutText(name, MAX_NAME_LENGTH)),
    `${line(12, color, state)}</g>`,
  ];
}

/** Characters that XML does not allow, even as entities, are replaced: those besides control characters. */
function xmlText(text: string): string {
  return text
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replace(/[<>&"]/g, (char) => `&#${char.codePointAt(0)};`);
}
