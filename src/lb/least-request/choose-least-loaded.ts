import type { Random } from '../../util/random';

/** A list of things with a load. */
export interface Loads {
  readonly size: number;
  loadAt(index: number): number;
}

/**
 * Draws so many indexes, perhaps the same one more than once, and takes the one with the least load; of equal
 * ones, the one drawn first (gRFC A48). 0 if there are none.
 */
export function chooseLeastLoaded(loads: Loads, choiceCount: number, random: Random): number {
  const { size } = loads;
  if (size <= 1) return 0;
  let chosen = Math.floor(random() * size);
  let least = loads.loadAt(chosen);
  for (let i = 1; i < choiceCount; i++) {
    const index = Math.floor(random() * size);
    const load = loads.loadAt(index);
    if (load < least) {
      chosen = index;
      least = load;
    }
  }
  return chosen;
}
