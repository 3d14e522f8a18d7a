import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';
import { chooseLeastLoaded } from './choose-least-loaded';
import type { ReadyEndpoints } from './ready-endpoints';

/** What a picker is made of. */
export interface LeastRequestPickerOptions {
  readonly ready: ReadyEndpoints;
  /** How many endpoints to compare, as of now. */
  readonly choiceCount: () => number;
  readonly random: Random;
}

/**
 * Takes the least busy of a few random endpoints, of those that are READY at the moment of the pick: a picker
 * stays valid while connections come and go.
 */
export class LeastRequestPicker implements Picker {
  constructor(private readonly options: LeastRequestPickerOptions) {}

  pick(args: PickArgs): PickResult {
    const { ready, choiceCount, random } = this.options;
    const endpoint = ready.at(chooseLeastLoaded(ready, choiceCount(), random));
    // There may be none left, until the policy has published that.
    return (endpoint ?? queuePicker).pick(args);
  }
}
