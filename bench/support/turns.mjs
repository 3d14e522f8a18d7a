// CPU time per call of several variants of a client, which take short turns, so that a slow moment of the machine hits
// all of them.
import { median, quantile, shuffled } from './statistics.mjs';

// How a process happens to be compiled and laid out makes equal ones differ by several percent: where variants are
// processes of their own, many runs, of new processes each, matter more than many turns.
const RUNS = 12;
const TURNS = 20;
// Short turns, so that all variants share the machine's good and bad moments.
const CALLS = 400;

/** Returns one of the clients of a process as a variant. @param child Answers as `answerWithCpuTime` does. */
export const variantOf = (child, client = 0) => ({
  ask: (question) => child.ask({ client, ...question }),
  stop: () => child.stop(),
});

/**
 * Each run has processes of its own: how a process happens to be compiled and laid out is part of the noise.
 *
 * @param startVariants Starts the clients; returns them by the names of their variants.
 * @returns for each variant the CPU time per call in microseconds, by run and by turn.
 */
export async function measure(startVariants, { runs = RUNS, turns = TURNS } = {}) {
  const results = new Map();
  for (let run = 0; run < runs; run++) {
    const variants = await startVariants();
    try {
      for (const [name, measured] of await measureRun(variants, turns)) {
        results.set(name, [...(results.get(name) ?? []), measured]);
      }
    } finally {
      await Promise.all([...variants.values()].map((variant) => variant.stop()));
    }
  }
  return results;
}

/** Each round is in a random order: none always follows the same one, or is always the one that garbage is collected in. */
async function measureRun(variants, count) {
  const turns = new Map(Array.from(variants.keys(), (name) => [name, []]));
  for (let round = 0; round < count; round++) {
    for (const [name, variant] of shuffled([...variants])) {
      const { microseconds } = await variant.ask({ calls: CALLS });
      turns.get(name).push(microseconds);
    }
  }
  return turns;
}

/**
 * Returns a row for each variant: its name, the CPU time per call, how much that is over the first two variants, which
 * are alike, and between which values the middle half of the runs is. The rows of those two say what is noise.
 */
export function rowsOf(results) {
  const [first, second] = results.values();
  return [...results].map(([name, runs]) => {
    const over = runs.map((turns, run) => {
      // Turn by turn with each of the two: what drifts, or disturbs a turn, does not count. Not with their mean, which
      // a turn with a collection of garbage raises more than it raises the median.
      const baselines = [first[run], second[run]].filter((baseline) => baseline !== turns);
      return median(baselines.flatMap((baseline) => turns.map((us, i) => us / baseline[i] - 1)));
    });
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

/** How often calls were measured, for a title. */
export const extentOf = ({ runs = RUNS, turns = TURNS } = {}) =>
  `median of ${runs} runs of ${turns} turns of ${CALLS} calls`;

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}
