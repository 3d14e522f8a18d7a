import {
  PickResultType,
  type Metadata,
  type PickArgs,
  type Picker,
  type PickResult,
  type Status,
} from '.';
import { completeStatus } from './handed-over';
import { containedCallback } from './host-callbacks';

/**
 * The picker of a channel. If it throws, or returns what grpc-js cannot use, the call is picked by another one: grpc-js contains
 * neither, so that the call, and those that wait with it, would never end.
 */
export class ContainedPicker implements Picker {
  /** @param onError Returns the picker of a call whose pick has failed. */
  constructor(
    private readonly child: Picker,
    private readonly onError: (error: unknown) => Picker,
  ) {}

  pick(args: PickArgs): PickResult {
    try {
      const result = this.child.pick(args);
      if (!isUsable(result)) throw new Error('the result of a pick is not complete');
      const { onCallStarted, onCallEnded, status } = result;
      const isPlain = onCallStarted === null && onCallEnded === null && status === null;
      return isPlain ? result : containResult(result);
    } catch (error) {
      return this.onError(error).pick(args);
    }
  }
}

/** Policies of an application return any value. */
function isUsable(result: Record<keyof PickResult, unknown>): boolean {
  const { pickResultType, subchannel, status } = result;
  const { COMPLETE, QUEUE, TRANSIENT_FAILURE, DROP } = PickResultType;
  if (pickResultType === COMPLETE) return typeof subchannel === 'object' && subchannel !== null;
  if (pickResultType === QUEUE) return true;
  const isFailure = pickResultType === TRANSIENT_FAILURE || pickResultType === DROP;
  return isFailure && typeof status === 'object' && status !== null;
}

/** For exceptions. */
const PLACE = 'a load-balancing policy';

function containResult(result: PickResult): PickResult {
  const { onCallStarted, onCallEnded, status } = result;
  return {
    ...result,
    status: status && completeStatus(status),
    onCallStarted: onCallStarted && containedCallback(PLACE, onCallStarted),
    onCallEnded:
      onCallEnded &&
      containedCallback(PLACE, (code: Status, details: string, metadata: Metadata) => {
        const end = completeStatus({ code, details, metadata });
        onCallEnded(end.code, end.details, end.metadata);
      }),
  };
}
