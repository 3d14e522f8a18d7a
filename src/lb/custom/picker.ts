import { PickResultType, type PickArgs, type Picker, type PickResult } from '../../grpc-js';
import { abandon, atOnce, isPromiseLike } from '../../util/contained';
import { errorMessage } from '../../util/error-message';
import { createFailurePicker, queuePicker } from '../connectivity';
import { LeafConnection } from './connections';
import type { LbCall, LbConnection, LbPicker } from './definition';

/** Whether the picker of the application is running, so that no other picker must be published. */
export interface PickGuard {
  isPicking: boolean;
}

export interface CustomPickerOptions {
  readonly picker: LbPicker;
  /** Set while the picker runs, so that connections it requests are started afterwards. */
  readonly guard: PickGuard;
  /** Returns the error of a failed call. @param cause The error of the application's code. */
  readonly describe: (cause: string) => string;
  /** Logs an exception of the picker. */
  readonly onError: (error: unknown) => void;
}

const MUST_PICK_AT_ONCE = 'the picker must return a connection, not a promise';

/** Runs the picker of an application. An exception of it fails the one call. */
export class CustomPicker implements Picker {
  constructor(private readonly options: CustomPickerOptions) {}

  pick(args: PickArgs): PickResult {
    const { picker, guard, describe, onError } = this.options;
    guard.isPicking = true;
    try {
      const connection = atOnce(picker.pick(new PickedCall(args)), MUST_PICK_AT_ONCE);
      if (connection === undefined) return queuePicker.pick(args);
      const result = LeafConnection.pick(connection, args);
      if (result === undefined)
        throw new Error('the picker returned something other than a connection');
      return this.withCallbacks(result, connection);
    } catch (error) {
      onError(error);
      return createFailurePicker(describe(errorMessage(error))).pick(args);
    } finally {
      guard.isPicking = false;
    }
  }

  /** Adds the callbacks of the picker, if it has any. */
  private withCallbacks(result: PickResult, connection: LbConnection): PickResult {
    const { picker } = this.options;
    if (picker.onCallStarted === undefined && picker.onCallEnded === undefined) return result;
    if (result.pickResultType !== PickResultType.COMPLETE) return result;
    return {
      ...result,
      onCallStarted: () => {
        result.onCallStarted?.();
        this.runCallback(() => picker.onCallStarted?.(connection));
      },
      onCallEnded: (code, ...rest) => {
        result.onCallEnded?.(code, ...rest);
        this.runCallback(() => picker.onCallEnded?.(connection, code));
      },
    };
  }

  private runCallback(callback: () => unknown): void {
    const { guard, onError } = this.options;
    guard.isPicking = true;
    try {
      const result = callback();
      if (isPromiseLike(result)) abandon(result, onError);
    } catch (error) {
      onError(error);
    } finally {
      guard.isPicking = false;
    }
  }
}

/** The call of a pick, for the picker of an application. */
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
