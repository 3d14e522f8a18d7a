import type { Steps } from '../../util/steps';
import type { LbEnvironment } from '../lb-policy';

/** Something that holds connections, or policies with connections. */
interface Destroyable {
  destroy(): void;
}

/**
 * Destroys what a policy no longer uses. Each may be a tree with connections: many take several turns of the event loop, also
 * when the policy itself is destroyed meanwhile. What they report until then, the policy has to ignore. Must be called in the
 * batch of the tree.
 *
 * @param perStep How many are destroyed in one step; as many, and no more, are destroyed at once.
 */
export function destroyInSteps(
  { batch, timeSlices }: Pick<LbEnvironment, 'batch' | 'timeSlices'>,
  all: readonly Destroyable[],
  perStep: number,
): void {
  if (all.length <= perStep) for (const each of all) each.destroy();
  else timeSlices.start({ batch, steps: destroyAll(all, perStep) });
}

function* destroyAll(all: readonly Destroyable[], perStep: number): Steps<void> {
  for (const [index, each] of all.entries()) {
    if (index > 0 && index % perStep === 0) yield;
    each.destroy();
  }
}
