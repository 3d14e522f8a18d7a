import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until the condition holds; fails with what it last was after `timeoutMs`. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  isDone: (value: T) => boolean,
  timeoutMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (isDone(value)) return value;
    if (performance.now() > deadline) {
      throw new Error(`Still not so after ${timeoutMs} ms: ${JSON.stringify(value)}`);
    }
    await sleep(10);
  }
}
