// The rows of a graph as an outline: each part below the one that leads to it.

import { layOut } from './graph-layout.js';

/** Returns a row for each node, with its depth and the ways to it, in the order of the picture on a narrow screen. */
export function toOutline(rows) {
  const nodes = rows.filter(({ kind }) => kind === 'node');
  const edges = rows.filter(({ kind }) => kind === 'edge');
  const { nodes: placed } = layOut({ target: '', nodes, edges }, { room: 0 });
  const levels = [...new Set(placed.map(({ x }) => x))].sort((a, b) => a - b);
  return placed
    .toSorted((a, b) => a.y - b.y)
    .map((row) => ({
      ...row,
      depth: levels.indexOf(row.x),
      ways: edges.filter(({ to }) => to === row.id),
    }));
}
