import { edgeLabel, signed } from './graph-text';
import type { GraphEdge, MeshGraph } from './mesh-graph';

/** The parts that are listed. */
const MAX_LISTED = 12;

/**
 * Lists what differs in a graph that is compared with an earlier one, such as `~ locality eu/a: failing; was ok`. A way that was
 * added or removed with one of its ends is not listed.
 */
export function listChanges({ nodes, edges }: MeshGraph): readonly string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const isImplied = ({ from, to, change }: GraphEdge) =>
    change !== 'changed' && [from, to].some((id) => byId.get(id)?.change === change);
  const nameOf = (id: string) => byId.get(id)?.name ?? '';
  const lines = [
    ...nodes
      .filter(({ change }) => change !== undefined)
      .map(({ change, column, name, state, text }) =>
        describe(signed(change, `${column} ${name}`), change === 'removed' ? [] : [state, text]),
      ),
    ...edges
      .filter((edge) => edge.change !== undefined && !isImplied(edge))
      .map(({ change, ...edge }) =>
        describe(signed(change, `${nameOf(edge.from)} → ${nameOf(edge.to)}`), [edgeLabel(edge)]),
      ),
  ];
  const left = lines.length - MAX_LISTED;
  return left > 0 ? [...lines.slice(0, MAX_LISTED), `and ${left} more`] : lines;
}

function describe(name: string, facts: readonly string[]): string {
  const known = facts.filter((fact) => fact !== '');
  return known.length === 0 ? name : `${name}: ${known.join('; ')}`;
}
