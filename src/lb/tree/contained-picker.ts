import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import { errorMessage } from '../../util/error-message';
import { createFailurePicker } from '../connectivity';

/**
 * The picker of a channel. An exception of a pick, which is a bug, fails the one call: the host library contains none, so that the
 * call, and those that wait with it, would never end.
 */
export class ContainedPicker implements Picker {
  constructor(
    private readonly child: Picker,
    private readonly onError: (error: unknown) => void,
  ) {}

  pick(args: PickArgs): PickResult {
    try {
      return this.child.pick(args);
    } catch (error) {
      this.onError(error);
      const reason = `unexpected error in a load-balancing policy: ${errorMessage(error)}`;
      return createFailurePicker(reason).pick(args);
    }
  }
}
