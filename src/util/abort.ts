import { getMaxListeners, setMaxListeners } from 'node:events';
import { optional, SIGNAL, type MembersOf } from './check-arguments';
import { createHandle, type Handle } from './handle';

/** The options of a start. */
export interface StartOptions {
  /** Aborts the start: the promise is then rejected with the reason of the signal, and nothing is left behind. */
  readonly signal?: AbortSignal | undefined;
}

export const START_OPTIONS: MembersOf<StartOptions> = { signal: optional(SIGNAL) };

/** Calls a function when a signal is aborted, at once if it is already, until the handle is released. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): Handle {
  if (signal?.aborted === true) callback();
  if (signal === undefined || signal.aborted) return createHandle(() => {});
  signal.addEventListener('abort', callback, { once: true });
  // Any number of waits may share a signal. Node.js warns of a leak when it has more listeners than this.
  setMaxListeners(getMaxListeners(signal) + 1, signal);
  return createHandle(() => {
    signal.removeEventListener('abort', callback);
    setMaxListeners(getMaxListeners(signal) - 1, signal);
  });
}

/**
 * Does something that takes a while, unless a signal is aborted before.
 *
 * @param cancel Makes the start fail soon, with nothing left behind.
 * @returns A promise that is rejected with the reason of the signal when it has failed for that.
 */
export async function abortable<T>(
  signal: AbortSignal | undefined,
  start: () => Promise<T>,
  cancel: () => void,
): Promise<T> {
  signal?.throwIfAborted();
  const starting = start();
  const aborting = onAbort(signal, cancel);
  try {
    return await starting;
  } finally {
    aborting.release();
    signal?.throwIfAborted();
  }
}
