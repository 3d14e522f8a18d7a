import { localityKey, type PriorityEndpoints } from '../../resources/endpoints/endpoints';

/** A priority and the name of the child that serves it. */
export interface NamedPriority {
  readonly name: string;
  readonly priority: PriorityEndpoints;
}

/**
 * Previous priorities with a locality that are compared with a changed one that has it, too, of those without a successor: a
 * locality may be in every priority.
 */
const MAX_CANDIDATES = 16;

/**
 * Names the priorities so that existing children and their connections stay in use (gRFC A37): an unchanged priority
 * keeps its name; a changed one gets the name of the previous priority with which it shares the most localities.
 *
 * @returns A different name for each priority; new names were not in use before.
 */
export function nextPriorityNames(
  previous: readonly NamedPriority[],
  priorities: readonly PriorityEndpoints[],
): readonly string[] {
  const free = new Set(previous);
  const names = new Map<PriorityEndpoints, string>();
  const unchanged = new Set(priorities);
  for (const known of previous) {
    if (!unchanged.has(known.priority)) continue;
    names.set(known.priority, known.name);
    free.delete(known);
  }
  const overlaps = new LocalityOverlaps(free);
  const newNames = unusedNames(new Set(previous.map(({ name }) => name)));
  return priorities.map(
    (priority) => names.get(priority) ?? overlaps.takeBest(priority)?.name ?? newNames.next().value,
  );
}

/** Finds the previous priorities that share localities with changed ones. */
class LocalityOverlaps {
  /** The free priorities by locality; the same one may be in several. Some that were taken are still listed. */
  private readonly byLocality = new Map<string, Set<NamedPriority>>();

  constructor(private readonly free: Set<NamedPriority>) {
    for (const known of free) {
      for (const key of localityKeys(known.priority)) {
        const listed = this.byLocality.get(key);
        if (listed === undefined) this.byLocality.set(key, new Set([known]));
        else listed.add(known);
      }
    }
  }

  /** Returns the previous priority that shares the most localities, once; `undefined` if none shares any. */
  takeBest(priority: PriorityEndpoints): NamedPriority | undefined {
    if (this.free.size === 0) return undefined;
    const shared = new Map<NamedPriority, number>();
    let best: NamedPriority | undefined;
    for (const key of localityKeys(priority)) {
      for (const known of this.candidatesOf(key)) {
        const count = (shared.get(known) ?? 0) + 1;
        shared.set(known, count);
        if (best === undefined || count > (shared.get(best) ?? 0)) best = known;
      }
    }
    if (best !== undefined) this.free.delete(best);
    return best;
  }

  private *candidatesOf(key: string): IterableIterator<NamedPriority> {
    const listed = this.byLocality.get(key);
    if (listed === undefined) return;
    let count = 0;
    for (const known of listed) {
      if (!this.free.has(known)) {
        listed.delete(known);
        continue;
      }
      yield known;
      if (++count === MAX_CANDIDATES) return;
    }
  }
}

function localityKeys(priority: PriorityEndpoints): readonly string[] {
  return priority.localities.map(({ locality }) => localityKey(locality));
}

/** Returns unused names. The names of removed priorities are used, since their children may be kept. */
function* unusedNames(used: ReadonlySet<string>): Generator<string, never> {
  for (let number = 0; ; number++) {
    const name = `child${number}`;
    if (!used.has(name)) yield name;
  }
}
