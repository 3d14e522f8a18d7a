import { PickResultType, type PickArgs, type Picker, type PickResult } from '../../grpc-js';
import { contained } from '../../util/contained';
import { createFailurePicker } from '../connectivity';

/** Logs the exceptions of a policy. */
export interface CrashReport {
  /** @returns the error of a call that fails. */
  report(error: unknown): string;
}

/**
 * Runs the picker of a policy that is registered with grpc-js. An exception of it fails the one call; of a callback of a
 * pick, which grpc-js does not catch, it fails none.
 */
export class GrpcJsPicker implements Picker {
  constructor(
    private readonly picker: Picker,
    private readonly crashes: CrashReport,
  ) {}

  pick(args: PickArgs): PickResult {
    try {
      const result = this.picker.pick(args);
      if (!isPickResult(result)) throw new Error('its picker must return a pick result');
      const hasCallback = Boolean(result.onCallStarted ?? result.onCallEnded);
      return hasCallback ? this.withCallbacks(result) : result;
    } catch (error) {
      return createFailurePicker(this.crashes.report(error)).pick(args);
    }
  }

  private withCallbacks(result: PickResult): PickResult {
    const onError = (error: unknown) => this.crashes.report(error);
    const { onCallStarted, onCallEnded } = result;
    const contain = <Args extends readonly unknown[]>(callback: ((...args: Args) => void) | null) =>
      callback && contained((...args: Args) => callback(...args), onError);
    return {
      ...result,
      onCallStarted: contain(onCallStarted),
      onCallEnded: contain(onCallEnded),
    };
  }
}

/** Whether a picker has returned a result. Plain JavaScript may return anything. */
function isPickResult(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  return (
    'pickResultType' in result &&
    typeof result.pickResultType === 'number' &&
    result.pickResultType in PickResultType
  );
}
