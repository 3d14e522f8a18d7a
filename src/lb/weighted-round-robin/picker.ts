import { PickResultType, type PickArgs, type Picker, type PickResult } from '../../grpc-js';
import { queuePicker } from '../connectivity';
import type { WeightedEndpoints } from './weighted-endpoints';

/**
 * Picks endpoints by weight: those that are READY, with their weights, at the moment of the pick. Starts at random, so
 * that many clients with the same list do not all begin with the same endpoint.
 */
export class WeightedRoundRobinPicker implements Picker {
  /** @param readsCalls Returns whether the reports that come with calls are used. */
  constructor(
    private readonly endpoints: WeightedEndpoints,
    private readonly readsCalls: () => boolean,
  ) {
    endpoints.shuffle();
  }

  pick(args: PickArgs): PickResult {
    const endpoint = this.endpoints.next();
    // `undefined` between the loss of the last endpoint and the next picker.
    if (endpoint === undefined) return queuePicker.pick(args);
    const result = endpoint.leaf.picker.pick(args);
    if (result.pickResultType !== PickResultType.COMPLETE || !this.readsCalls()) return result;
    return {
      pickResultType: result.pickResultType,
      subchannel: result.subchannel,
      status: null,
      onCallStarted: result.onCallStarted,
      onCallEnded: endpoint.observe(result.onCallEnded),
    };
  }
}
