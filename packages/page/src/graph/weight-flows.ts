import { groupBy } from './group-by';
import type { GraphEdge, MeshGraph } from './mesh-graph';

/** The shares of all calls, 0 to 1, that the weights give to the parts of a graph. */
export interface WeightFlows {
  readonly ofNode: (id: string) => number;
  readonly ofEdge: (edge: GraphEdge) => number;
}

/**
 * Follows the weights through a graph: all calls come to each node that nothing leads to.
 *
 * @param isSplit Whether ways without a weight share the calls. Otherwise, each is as important as what it leads from.
 */
export function findWeightFlows(
  { edges }: Pick<MeshGraph, 'edges'>,
  isSplit: boolean,
): WeightFlows {
  const outgoing = groupBy(edges, ({ from }) => from);
  const incoming = groupBy(edges, ({ to }) => to);
  const known = new Map<string, number>();
  const sum = (all: readonly GraphEdge[] = [], weightOf: (edge: GraphEdge) => number) =>
    all.reduce((total, edge) => total + weightOf(edge), 0);
  const totals = new Map([...outgoing].map(([from, own]) => [from, sum(own, weightOf)]));
  const ofEdge = (edge: GraphEdge) =>
    (ofNode(edge.from) * weightOf(edge)) / ((isSplit && totals.get(edge.from)) || 1);
  const ofNode = (id: string): number => {
    const flow = known.get(id);
    if (flow !== undefined) return flow;
    // An aggregate cluster may not contain itself, but resources may say so.
    known.set(id, 0);
    const found = incoming.has(id) ? sum(incoming.get(id), ofEdge) : 1;
    known.set(id, found);
    return found;
  };
  return { ofNode, ofEdge };
}

/** What is not used now leaves its share to the others. */
function weightOf({ share, evenShare, isUsed }: GraphEdge): number {
  return isUsed ? (share ?? evenShare ?? 1) : 0;
}
