import type { PickArgs, PickResult, Picker } from '../../grpc-js';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';

export interface WeightedPicker {
  readonly weight: number;
  readonly picker: Picker;
}

/** Forwards each pick to one of several pickers, at random by weight. */
export class WeightedTargetPicker implements Picker {
  private readonly cumulative: readonly number[];
  private readonly total: number;

  /** @param targets Never empty. */
  constructor(
    private readonly targets: readonly WeightedPicker[],
    private readonly random: Random,
  ) {
    this.cumulative = cumulativeWeights(targets.map((target) => target.weight));
    this.total = this.cumulative.at(-1) ?? 0;
  }

  pick(args: PickArgs): PickResult {
    const index =
      this.targets.length === 1 ? 0 : chooseTarget(this.cumulative, this.random() * this.total);
    return (this.targets[index]?.picker ?? queuePicker).pick(args);
  }
}

/** Returns the running sums of the weights as doubles, which are exact up to 2^53. */
export function cumulativeWeights(weights: readonly number[]): readonly number[] {
  let sum = 0;
  return weights.map((weight) => (sum += weight));
}

/**
 * Returns the index of the target at a point: the first whose running sum exceeds it.
 *
 * @param point From 0 up to, not including, the last sum.
 */
export function chooseTarget(cumulative: readonly number[], point: number): number {
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cumulative[middle] ?? 0) > point) high = middle;
    else low = middle + 1;
  }
  return low;
}
