import type { Random } from '../../util/random';

/**
 * A random order in which each element comes first with a probability in proportion to its weight, and so
 * on among the rest (gRFC A113).
 *
 * @param list Weights are positive.
 */
export function shuffleByWeight<T extends { readonly weight: number }>(
  list: readonly T[],
  random: Random,
): readonly T[] {
  // The gRFC sorts by u^(1/weight), descending. The logarithm keeps the order, and also keeps apart the
  // keys of great weights, which would all round to 1. `random` may be 0, which has no logarithm.
  return list
    .map((element) => ({ element, key: -Math.log(1 - random()) / element.weight }))
    .sort((a, b) => a.key - b.key)
    .map(({ element }) => element);
}
