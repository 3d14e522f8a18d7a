// The keyboard of the graph: left and right along the widest way, up and down within a column.

/**
 * Returns the id of the node that a key leads to; undefined for another key. At an end it is the same node.
 *
 * @param nodes Those of each column from top to bottom, with their `layer`.
 */
export function moveAlong(key, id, { nodes, edges }) {
  const layer = nodes.find((node) => node.id === id)?.layer;
  const column = nodes.filter((node) => node.layer === layer).map((node) => node.id);
  const index = column.indexOf(id);
  switch (key) {
    case 'ArrowDown':
      return column[index + 1] ?? id;
    case 'ArrowUp':
      return column[index - 1] ?? id;
    case 'Home':
      return column[0];
    case 'End':
      return column.at(-1);
    case 'ArrowRight':
      return widest(edges.filter(({ from }) => from === id))?.to ?? id;
    case 'ArrowLeft':
      return widest(edges.filter(({ to }) => to === id))?.from ?? id;
    default:
      return undefined;
  }
}

/** A way in use before one that is not. */
function widest(edges) {
  const size = ({ isUsed, rate = 0, share = 0 }) => (isUsed ? 1 : 0) + rate + share;
  return edges.reduce(
    (best, edge) => (best === undefined || size(edge) > size(best) ? edge : best),
    undefined,
  );
}
