import { errorMessage } from './errors';
import type { Violations } from './violations';

/** Whether the value is a promise, of any implementation. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/**
 * Drops the outcome of a promise that nothing waits for: Node.js ends the process on an unhandled rejection.
 *
 * @param onError Called with the reason of a rejection. Default: it is dropped, too.
 */
export function abandon(
  promise: PromiseLike<unknown>,
  onError: (reason: unknown) => void = () => {},
): void {
  void promise.then(undefined, onError);
}

/**
 * Returns a function in place of one of the application, or of another package. It never throws: an exception goes to
 * `onError`, and the result is `undefined`. A promise, which nothing waits for, is no result either; the reason of its
 * rejection goes to `onError`. Made once, when the function is registered, so that a call costs no more.
 *
 * @param onError Must not throw.
 */
export function contained<Args extends readonly unknown[], R>(
  call: (...args: Args) => R,
  onError: (error: unknown) => void,
): (...args: Args) => R | undefined {
  return (...args) => {
    try {
      const result = call(...args);
      if (!isPromiseLike<unknown>(result)) return result;
      abandon(result, onError);
    } catch (error) {
      onError(error);
    }
    return undefined;
  };
}

/** Returns the result of a function that must not return a promise. @throws Error with the rule if it is one. */
export function atOnce<T>(result: T, rule: string): T {
  if (!isPromiseLike<unknown>(result)) return result;
  abandon(result);
  throw new Error(rule);
}

/**
 * Parses a config by a function of the application: what it throws is a violation, or several if it is an
 * `AggregateError`.
 *
 * @param subject Names what must parse at once, such as `the filter`.
 * @returns `undefined` after adding a violation.
 */
export function parseContained<T>(
  parse: () => T,
  violations: Violations,
  subject: string,
): { readonly value: T } | undefined {
  try {
    const rule = `${subject} must parse its config at once, not return a promise`;
    return { value: atOnce(parse(), rule) };
  } catch (error) {
    const isList = error instanceof AggregateError && error.errors.length > 0;
    for (const each of isList ? error.errors : [error]) {
      violations.add(errorMessage(each) || 'is invalid');
    }
    return undefined;
  }
}
