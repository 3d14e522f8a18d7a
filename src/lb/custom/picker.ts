import { PickResultType } from '../../grpc-js';
import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import { errorMessage } from '../../util/error-message';
import { createFailurePicker, queuePicker } from '../connectivity';
import { LeafConnection } from './connections';
import type { LbCall, LbConnection, LbPicker } from './definition';

/** Whether code of the application runs that must not be surprised by a new picker. */
export interface PickGuard {
  isPicking: boolean;
}

/** What the picker of an application runs in. */
export interface CustomPickerOptions {
  readonly picker: LbPicker;
  /** Raised while the picker runs, so that connections asked for by it are put off. */
  readonly guard: PickGuard;
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
    guard.isPicking = true;
    try {
      const connection = picker.pick(new PickedCall(args));
      if (connection === undefined) return queuePicker.pick(args);
      const result = LeafConnection.pick(connection, args);
      if (result === undefined)
        throw new Error('the picker returned something else than a connection');
      return this.withCallbacks(result, connection);
    } catch (error) {
      return createFailurePicker(describe(errorMessage(error))).pick(args);
    } finally {
      guard.isPicking = false;
    }
  }

  /** Only a picker that wants to be told of its calls pays for that. */
  private withCallbacks(result: PickResult, connection: LbConnection): PickResult {
    const { picker } = this.options;
    if (picker.onCallStarted === undefined && picker.onCallEnded === undefined) return result;
    if (result.pickResultType !== PickResultType.COMPLETE) return result;
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
    const { guard, onError } = this.options;
    guard.isPicking = true;
    try {
      callback();
    } catch (error) {
      onError(errorMessage(error));
    } finally {
      guard.isPicking = false;
    }
  }
}

/** A call as the picker of an application sees it. */
class PickedCall implements LbCall {
  readonly #args: PickArgs;

  constructor(args: PickArgs) {
    this.#args = args;
  }

  header(name: string): readonly (string | Buffer)[] {
    return this.#args.metadata.get(name);
  }

  setHeader(name: string, value: string | Buffer): void {
    this.#args.metadata.set(name, value);
  }
}
