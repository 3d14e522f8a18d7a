import { PickResultType } from '../../grpc-js';
import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import { errorMessage } from '../../util/error-message';
import { createFailurePicker, queuePicker } from '../connectivity';
import { LeafConnection } from './connection';
import type { LbConnection, LbPicker } from './definition';

/** What the picker of an application runs in. */
export interface CustomPickerOptions {
  readonly picker: LbPicker;
  /** Runs a pick, so that connections asked for by it are put off. */
  readonly guard: <T>(pick: () => T) => T;
  /** The text of a failure of the application's code. */
  readonly describe: (cause: string) => string;
  /** Takes note of what a callback threw when nobody could be told. */
  readonly onError: (cause: string) => void;
}

/** The picker of an application. Whatever it throws fails the one call. */
export class CustomPicker implements Picker {
  constructor(private readonly options: CustomPickerOptions) {}

  pick(args: PickArgs): PickResult {
    const { picker, guard, describe } = this.options;
    try {
      const call = { header: (name: string) => args.metadata.get(name) };
      const connection = guard(() => picker.pick(call));
      if (connection === undefined) return queuePicker.pick(args);
      const result = LeafConnection.pick(connection, args);
      if (result === undefined)
        throw new Error('the picker returned something else than a connection');
      return this.withCallbacks(result, connection);
    } catch (error) {
      return createFailurePicker(describe(errorMessage(error))).pick(args);
    }
  }

  private withCallbacks(result: PickResult, connection: LbConnection): PickResult {
    const { picker } = this.options;
    if (result.pickResultType !== PickResultType.COMPLETE) return result;
    if (picker.onCallStarted === undefined && picker.onCallEnded === undefined) return result;
    return {
      ...result,
      onCallStarted: () => {
        result.onCallStarted?.();
        this.tell(() => picker.onCallStarted?.(connection));
      },
      onCallEnded: (code, ...rest) => {
        result.onCallEnded?.(code, ...rest);
        this.tell(() => picker.onCallEnded?.(connection, code));
      },
    };
  }

  private tell(callback: () => void): void {
    try {
      this.options.guard(callback);
    } catch (error) {
      this.options.onError(errorMessage(error));
    }
  }
}
