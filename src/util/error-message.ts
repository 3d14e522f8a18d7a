import { types } from 'node:util';

/** Returns the message of a thrown value, which need not be an `Error`. */
export function errorMessage(reason: unknown): string {
  // Under Jest, errors of the system are instances of another realm's `Error`.
  return reason instanceof Error || types.isNativeError(reason) ? reason.message : String(reason);
}
