import { types } from 'node:util';

/** Returns the message of a thrown value, which need not be an `Error`. */
export function errorMessage(reason: unknown): string {
  return isError(reason) ? reason.message : String(reason);
}

/** Returns the stack of a thrown value, for the log: an exception that nothing expects is a bug. */
export function errorStack(reason: unknown): string {
  return isError(reason) ? (reason.stack ?? reason.message) : errorMessage(reason);
}

// Under Jest, errors of the system are instances of another realm's `Error`.
function isError(reason: unknown): reason is Error {
  return reason instanceof Error || types.isNativeError(reason);
}
