import { PickResultType } from '../../grpc-js';
import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import { queuePicker } from '../connectivity';
import type { WeightedEndpoints } from './weighted-endpoints';

/**
 * Takes the endpoints that are READY by weight. Endpoints and weights are those of the moment of the pick: one
 * picker serves as long as any endpoint is READY. It begins at random, so that many clients with the same list
 * do not all begin with the same endpoint.
 */
export class WeightedRoundRobinPicker implements Picker {
  /** @param readsCalls Tells whether reports that come with calls count. */
  constructor(
    private readonly endpoints: WeightedEndpoints,
    private readonly readsCalls: () => boolean,
  ) {
    endpoints.shuffle();
  }

  pick(args: PickArgs): PickResult {
    const endpoint = this.endpoints.next();
    // There may be none left, until the policy has published that.
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
