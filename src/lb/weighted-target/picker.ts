import type { PickArgs, PickResult, Picker } from '../../grpc-js';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';
import type { WeightedPlaces } from './weighted-places';

/** The targets in one state, and their weights, which change while the picker is in use. */
export interface WeightedPickers {
  readonly places: WeightedPlaces;
  /** The number of targets in the state. */
  readonly count: number;
  /** Returns the current picker of a target. */
  at(place: number): Picker | undefined;
}

/** Forwards each pick to one of the targets that are in a state at the moment of the pick, at random by weight. */
export class WeightedTargetPicker implements Picker {
  constructor(
    private readonly targets: WeightedPickers,
    private readonly random: Random,
  ) {}

  pick(args: PickArgs): PickResult {
    const { count, places } = this.targets;
    const point = count <= 1 ? 0 : this.random() * places.total;
    // None between the loss of the last target and the next picker.
    const picker = count === 0 ? undefined : this.targets.at(places.choose(point));
    return (picker ?? queuePicker).pick(args);
  }
}
