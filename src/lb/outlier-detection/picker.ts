import { PickResultType } from '../../grpc-js';
import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import { findObserved } from './observed-subchannel';

/** Leaves the choice to the child, and counts the calls to observed endpoints. */
export class OutlierDetectionPicker implements Picker {
  constructor(private readonly child: Picker) {}

  pick(args: PickArgs): PickResult {
    const result = this.child.pick(args);
    const { pickResultType, subchannel, status, onCallStarted, onCallEnded } = result;
    if (pickResultType !== PickResultType.COMPLETE || subchannel === null) return result;
    const observed = findObserved(subchannel);
    if (observed?.endpoint === undefined) return result;
    return {
      pickResultType,
      // Policies above are to find their own subchannels again.
      subchannel: subchannel === observed ? observed.wrapped : subchannel,
      status,
      onCallStarted,
      onCallEnded: observed.endpoint.observe(onCallEnded),
    };
  }
}
