import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';
import type { ReadyLeaves } from './ready-leaves';

/**
 * Takes the leaves that are READY in turn. Starts at random, so that many clients with the same list do not
 * all begin with the same endpoint.
 *
 * The leaves are those of the moment of the pick: a picker stays valid while connections come and go. With
 * a picker for each set of leaves, connecting to n endpoints one after the other would take n² steps.
 */
export class RoundRobinPicker implements Picker {
  private next: number;

  constructor(
    private readonly leaves: ReadyLeaves,
    random: Random,
  ) {
    this.next = Math.floor(random() * leaves.size);
  }

  pick(args: PickArgs): PickResult {
    if (this.next >= this.leaves.size) this.next = 0;
    // There may be none left, until the policy has published that.
    const picker = this.leaves.at(this.next)?.picker ?? queuePicker;
    this.next++;
    return picker.pick(args);
  }
}
