import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';
import { chooseTarget, cumulativeWeights } from './choose-target';

/** A picker and its share of the calls. */
export interface WeightedPicker {
  readonly weight: number;
  readonly picker: Picker;
}

/** Hands each call to one of several pickers, at random by weight. */
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
