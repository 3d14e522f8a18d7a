import type { GraphNode, GraphState } from './mesh-graph';
import { failuresIn } from './words';

/** The states that need a look, by how much. */
const URGENCY: Readonly<Partial<Record<GraphState, number>>> = {
  failing: 3,
  ejected: 3,
  'over-limit': 3,
  degraded: 2,
  waiting: 1,
};

/** How urgent a flaw is, by how many calls fail. */
const FLAW_URGENCY = { many: 3, few: 2, none: 1 } as const;

/**
 * Returns how much a node itself needs a look; 0 if it does not.
 *
 * @public The scripts of the page import it.
 */
export function urgencyOf({ state, flaw }: Pick<GraphNode, 'state' | 'flaw'>): number {
  const ofFlaw = flaw === undefined ? 0 : FLAW_URGENCY[failuresIn(flaw) ?? 'none'];
  return Math.max(URGENCY[state] ?? 0, ofFlaw);
}
