// CPU time per call of several variants of a client, which take short turns, so that a slow moment of the machine hits
// all of them.
import { median } from './statistics.mjs';

export const RUNS = 5;
export const CALLS = 20_000;
// A run is made in turns of this many calls, so that all variants share the machine's good and bad moments.
const TURN = 1000;

/**
 * Each run has processes of its own: how a process happens to be compiled and laid out is part of the noise.
 * @param startClients Starts the clients; returns them by the names of their variants.
 * @returns for each variant the CPU time per call in microseconds, turn by turn.
 */
export async function measure(startClients) {
  const results = new Map();
  for (let run = 0; run < RUNS; run++) {
    const clients = await startClients();
    try {
      for (const [name, turns] of await measureRun(clients)) {
        results.set(name, [...(results.get(name) ?? []), turns]);
      }
    } finally {
      await Promise.all([...clients.values()].map((client) => client.stop()));
    }
  }
  return results;
}

async function measureRun(clients) {
  const turns = new Map([...clients.keys()].map((name) => [name, []]));
  for (let done = 0; done < CALLS; done += TURN) {
    for (const [name, client] of clients) {
      const { microseconds } = await client.ask(TURN);
      turns.get(name).push(microseconds);
    }
  }
  return turns;
}

/** Returns a row for each variant: its name, the CPU time per call, and how much that is over the first variant. */
export function rowsOf(results) {
  const [baseline] = results.values();
  const ofRun = (turns) => turns.reduce((sum, value) => sum + value, 0) / turns.length;
  // Turn by turn with the first variant's: what drifts, or disturbs a turn, does not count.
  const overInRun = (turns, run) => median(turns.map((value, i) => value / baseline[run][i] - 1));
  const over = (runs) => median(runs.map(overInRun));
  return [...results].map(([name, values]) => [
    name,
    median(values.map(ofRun)).toFixed(1),
    `${(100 * over(values)).toFixed(1)} %`,
  ]);
}
