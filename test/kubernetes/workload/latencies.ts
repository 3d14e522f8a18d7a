import type { Observation } from '../children/messages';
import type { Write } from './deployment';

/** How long writes took until they were in use at a client. */
export interface Latencies {
  /** Milliseconds from the answer of the API server, in ascending order; 0 for what was in use before the answer. */
  readonly ms: readonly number[];
  /** Writes that never were. */
  readonly missing: readonly Write[];
}

/** Finds the observation of each write: the first one since the request was sent. */
export function latenciesOf(
  writes: readonly Write[],
  observations: readonly Observation[],
): Latencies {
  const ms: number[] = [];
  const missing: Write[] = [];
  for (const write of writes) {
    const { endpoint, isUsed, sentMs, answeredMs } = write;
    const observed = observations.find(
      (other) => other.endpoint === endpoint && other.isUsed === isUsed && other.atMs >= sentMs,
    );
    if (observed === undefined) missing.push(write);
    else ms.push(Math.max(0, observed.atMs - answeredMs));
  }
  return { ms: ms.sort((a, b) => a - b), missing };
}

/** Returns the value below which a share of the others is; undefined of none. */
export function quantile(ascending: readonly number[], share: number): number | undefined {
  return ascending[Math.ceil(share * ascending.length) - 1];
}
