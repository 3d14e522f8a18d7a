import { edgeLabel } from './graph-text';
import type { GraphEdge, MeshGraph } from './mesh-graph';
import type { ChangedText } from './words';

/** The parts that are listed. */
const MAX_LISTED = 12;

/**
 * Lists what differs in a graph that is compared with an earlier one, such as `locality eu/a: failing; was ok`. A way that was
 * added or removed with one of its ends is not listed.
 */
export function listChanges({ nodes, edges }: MeshGraph): readonly ChangedText[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const isImplied = ({ from, to, change }: GraphEdge) =>
    change !== 'changed' && [from, to].some((id) => byId.get(id)?.change === change);
  const nameOf = (id: string) => byId.get(id)?.name ?? '';
  const all = [
    ...nodes.map(({ change, column, name, state, text }) => {
      const facts = change === 'removed' ? [] : [state, text];
      return { change, text: describe(`${column} ${name}`, facts) };
    }),
    ...edges
      .filter((edge) => !isImplied(edge))
      .map(({ change, ...edge }) => {
        const text = describe(`${nameOf(edge.from)} → ${nameOf(edge.to)}`, [edgeLabel(edge)]);
        return { change, text };
      }),
  ].filter(({ change }) => change !== undefined);
  const left = all.length - MAX_LISTED;
  return left > 0 ? [...all.slice(0, MAX_LISTED), { text: `and ${left} more` }] : all;
}

function describe(name: string, facts: readonly string[]): string {
  const known = facts.filter((fact) => fact !== '');
  return known.length === 0 ? name : `${name}: ${known.join('; ')}`;
}
