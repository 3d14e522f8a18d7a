import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';
import type { ReadyList } from '../endpoints/connected-endpoints';
import type { CountedEndpoint } from './counted-endpoint';

/** A list of items with a load. */
export interface Loads {
  readonly size: number;
  loadAt(index: number): number;
}

/** Picks the least busy of a few random endpoints, of those that are READY at the moment of the pick. */
export class LeastRequestPicker implements Picker, Loads {
  /** @param choiceCount Returns how many endpoints are compared, by the latest config. */
  constructor(
    private readonly ready: ReadyList<CountedEndpoint>,
    private readonly choiceCount: () => number,
    private readonly random: Random,
  ) {}

  get size(): number {
    return this.ready.size;
  }

  loadAt(index: number): number {
    return this.ready.at(index)?.load ?? 0;
  }

  pick(args: PickArgs): PickResult {
    const endpoint = this.ready.at(chooseLeastLoaded(this, this.choiceCount(), this.random));
    // `undefined` between the loss of the last endpoint and the next picker.
    return (endpoint ?? queuePicker).pick(args);
  }
}

/**
 * Draws indexes with replacement and returns the one with the least load; of equal ones, the one drawn first
 * (gRFC A48). Returns 0 for an empty list.
 *
 * @param choiceCount How many indexes are drawn.
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
