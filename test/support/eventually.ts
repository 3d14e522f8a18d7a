import { setTimeout as sleep } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';

/** Waits until a value is as wanted, or satisfies a condition; fails with what it last was after `timeoutMs`. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  wanted: NoInfer<T> | ((value: NoInfer<T>) => boolean),
  timeoutMs = 20_000,
): Promise<T> {
  const isDone = isCondition(wanted)
    ? wanted
    : (value: NoInfer<T>) => isDeepStrictEqual(value, wanted);
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (isDone(value)) return value;
    if (performance.now() > deadline) {
      const expected = isCondition(wanted) ? '' : ` (wanted: ${inspect(wanted)})`;
      throw new Error(`Still not so after ${timeoutMs} ms: ${JSON.stringify(value)}${expected}`);
    }
    await sleep(10);
  }
}

function isCondition<T>(wanted: T | ((value: T) => boolean)): wanted is (value: T) => boolean {
  return typeof wanted === 'function';
}
