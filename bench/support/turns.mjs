// CPU time per call of several variants of a client, which take short turns, so that a slow moment of the machine hits
// all of them.
import { median, quantile } from './statistics.mjs';

// How a process happens to be compiled and laid out makes equal ones differ by several percent: many runs, of new
// processes each, matter more than many calls.
export const RUNS = 12;
export const CALLS = 8000;
// Short turns, so that all variants share the machine's good and bad moments.
const TURN = 400;

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

/** Each round begins with another variant: none always follows the same one. */
async function measureRun(clients) {
  const all = [...clients];
  const turns = new Map(all.map(([name]) => [name, []]));
  for (let round = 0; round * TURN < CALLS; round++) {
    for (let i = 0; i < all.length; i++) {
      const [name, client] = all[(round + i) % all.length];
      const { microseconds } = await client.ask(TURN);
      turns.get(name).push(microseconds);
    }
  }
  return turns;
}

/**
 * Returns a row for each variant: its name, the CPU time per call, how much that is over the first two variants, which
 * are alike, and between which values the middle half of the runs is.
 */
export function rowsOf(results) {
  const [first, second] = results.values();
  const baseline = first.map((turns, run) => turns.map((value, i) => (value + second[run][i]) / 2));
  // Turn by turn with the baseline: what drifts, or disturbs a turn, does not count.
  const overInRun = (turns, run) => median(turns.map((value, i) => value / baseline[run][i] - 1));
  return [...results].map(([name, runs]) => {
    const over = runs.map(overInRun);
    return [
      name,
      median(runs.map(median)).toFixed(1),
      percent(median(over)),
      `${percent(quantile(over, 0.25))} to ${percent(quantile(over, 0.75))}`,
    ];
  });
}

/** The heading of `rowsOf`. @param baseline What the first two variants are. */
export const headingOf = (baseline) => ['', 'µs', `over ${baseline}`, 'middle half of the runs'];

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}
