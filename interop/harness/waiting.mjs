import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for something that comes about by itself. Only a case that fails takes so long. */
const PATIENCE_MS = 60_000;

/**
 * Asks until the answer is as wanted, or the time is over.
 * @returns the last answer either way: the case judges it.
 */
export const pollUntil = async (ask, isWanted, { patienceMs = PATIENCE_MS, pauseMs = 50 } = {}) => {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer) || performance.now() > deadline) return answer;
    await sleep(pauseMs);
  }
};

/** Resolves once a service answers at an address, or rejects with why it does not. */
export const untilReady = (client, child) =>
  Promise.race([
    new Promise((resolve, reject) => {
      client.waitForReady(Date.now() + PATIENCE_MS, (error) =>
        error === undefined || error === null ? resolve() : reject(error),
      );
    }),
    child.ended.then((code) => {
      throw new Error(`ended with ${code} before it was ready:\n${child.output}`);
    }),
  ]);
