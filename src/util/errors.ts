import { types } from 'node:util';

/** The text of a thrown value that has none, or whose text cannot be read. */
const UNREADABLE = 'an exception without a text';

/** Returns the message of a thrown value, which need not be an `Error`. Never throws, whatever the value is. */
export function errorMessage(reason: unknown): string {
  return readText(() => (isError(reason) ? reason.message : reason));
}

/** Returns the stack of a thrown value, for the log: an exception that nothing expects is a bug. Never throws. */
export function errorStack(reason: unknown): string {
  return readText(() => (isError(reason) ? (reason.stack ?? reason.message) : reason));
}

function readText(read: () => unknown): string {
  try {
    return String(read());
  } catch {
    return UNREADABLE;
  }
}

// Under Jest, errors of the system are instances of another realm's `Error`.
function isError(reason: unknown): reason is Error {
  return reason instanceof Error || types.isNativeError(reason);
}

/** Ends an exhaustive switch: the compiler rejects the call while a case is missing. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${String(value)}`);
}
