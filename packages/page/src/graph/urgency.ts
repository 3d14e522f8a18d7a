import type { GraphNode, GraphState } from './mesh-graph';
import { CALLS_FAIL } from './words';

/** The states that need a look, by how much. */
const URGENCY: Readonly<Partial<Record<GraphState, number>>> = {
  failing: 3,
  ejected: 3,
  'over-limit': 3,
  degraded: 2,
  waiting: 1,
};

const FLAW_URGENCY = new Map<string, number>([
  [CALLS_FAIL.many, 3],
  [CALLS_FAIL.few, 2],
]);

/**
 * Returns how much a node itself needs a look; 0 if it does not.
 *
 * @public The scripts of the page import it.
 */
export function urgencyOf({ state, flaw }: Pick<GraphNode, 'state' | 'flaw'>): number {
  const ofFlaw = flaw === undefined ? 0 : (FLAW_URGENCY.get(flaw) ?? 1);
  return Math.max(URGENCY[state] ?? 0, ofFlaw);
}
