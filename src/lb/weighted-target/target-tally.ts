import { ConnectivityState, type PickArgs, type PickResult, type Picker } from '../../grpc-js';
import type { Random } from '../../util/random';
import { ConnectivityTally, queuePicker } from '../connectivity';
import { WeightedPlaces } from './weighted-places';

/** A target as it is counted. */
export interface TalliedTarget {
  readonly child: { readonly state: ConnectivityState; readonly picker: Picker };
  /** 0 while the target is not used. */
  weight: number;
  /** Its place among the targets, from `takePlace`. */
  readonly place: number;
  /** The state and weight that it is counted with, which only the tally sets; `undefined` while it is not. */
  counted: { readonly state: ConnectivityState; readonly weight: number } | undefined;
}

/** The targets in one state, and their weights, which change while a picker is in use. */
class TargetsInState {
  readonly places = new WeightedPlaces();
  count = 0;

  constructor(private readonly targets: readonly (TalliedTarget | undefined)[]) {}

  /** Returns the current picker of a target. */
  at(place: number): Picker | undefined {
    return this.targets[place]?.child.picker;
  }

  /** @param weight Negative if a target is not in the state any more. */
  add(place: number, weight: number): void {
    this.places.add(place, weight);
    this.count += Math.sign(weight);
  }
}

/** The targets by state, with their weights: a change of one among thousands takes little time, and no new list. */
export class TargetTally {
  /** The targets by place. */
  private readonly targets: (TalliedTarget | undefined)[] = [];
  private readonly freePlaces: number[] = [];
  private readonly states = new ConnectivityTally();
  readonly ready = new TargetsInState(this.targets);
  readonly failed = new TargetsInState(this.targets);

  /** The aggregated state. */
  get state(): ConnectivityState {
    return this.states.aggregate();
  }

  /** Returns a place that no other target has. */
  takePlace(): number {
    const free = this.freePlaces.pop();
    if (free !== undefined) return free;
    this.targets.push(undefined);
    return this.targets.length - 1;
  }

  /** Counts a target that is new, or whose weight or state may have changed. */
  update(target: TalliedTarget): void {
    const { counted, place, weight } = target;
    const { state } = target.child;
    if (counted?.state === state && counted.weight === weight) return;
    this.discount(target);
    if (weight === 0) return;
    this.targets[place] = target;
    target.counted = { state, weight };
    this.states.add(state);
    this.inState(state)?.add(place, weight);
  }

  /** Removes a target, whose place becomes free. */
  remove(target: TalliedTarget): void {
    this.discount(target);
    this.freePlaces.push(target.place);
  }

  private discount(target: TalliedTarget): void {
    const { counted, place } = target;
    if (counted === undefined) return;
    target.counted = undefined;
    this.targets[place] = undefined;
    this.states.remove(counted.state);
    this.inState(counted.state)?.add(place, -counted.weight);
  }

  private inState(state: ConnectivityState): TargetsInState | undefined {
    switch (state) {
      case ConnectivityState.READY:
        return this.ready;
      case ConnectivityState.TRANSIENT_FAILURE:
        return this.failed;
      default:
        return undefined;
    }
  }
}

/** Forwards each pick to one of the targets that are in a state at the moment of the pick, at random by weight. */
export class WeightedTargetPicker implements Picker {
  constructor(
    private readonly targets: TargetsInState,
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
