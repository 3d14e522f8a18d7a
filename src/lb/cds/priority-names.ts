import { localityName, type PriorityEndpoints } from '../../resources/endpoints/endpoints';

/** A priority and the name of the child that serves it. */
export interface NamedPriority {
  readonly name: string;
  readonly priority: PriorityEndpoints;
}

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
  for (const known of previous) {
    if (!priorities.includes(known.priority)) continue;
    names.set(known.priority, known.name);
    free.delete(known);
  }
  const overlaps = new LocalityOverlaps(free);
  const used = new Set(previous.map(({ name }) => name));
  return priorities.map((priority) => {
    const name = names.get(priority) ?? overlaps.takeBest(priority)?.name ?? newName(used);
    used.add(name);
    return name;
  });
}

/** Finds the previous priorities that share localities with changed ones. */
class LocalityOverlaps {
  /** By locality; the same one may be in several priorities. */
  private readonly byLocality = new Map<string, NamedPriority[]>();

  constructor(private readonly free: Set<NamedPriority>) {
    for (const known of free) {
      for (const key of localityKeys(known.priority)) {
        const list = this.byLocality.get(key);
        if (list === undefined) this.byLocality.set(key, [known]);
        else list.push(known);
      }
    }
  }

  /** Returns the previous priority that shares the most localities, once; `undefined` if none shares any. */
  takeBest(priority: PriorityEndpoints): NamedPriority | undefined {
    if (this.free.size === 0) return undefined;
    const shared = new Map<NamedPriority, number>();
    let best: NamedPriority | undefined;
    for (const key of localityKeys(priority)) {
      for (const known of this.byLocality.get(key) ?? []) {
        if (!this.free.has(known)) continue;
        const count = (shared.get(known) ?? 0) + 1;
        shared.set(known, count);
        if (best === undefined || count > (shared.get(best) ?? 0)) best = known;
      }
    }
    if (best !== undefined) this.free.delete(best);
    return best;
  }
}

function localityKeys(priority: PriorityEndpoints): readonly string[] {
  return priority.localities.map(({ locality }) => localityName(locality));
}

/** Returns an unused name. The names of removed priorities are used, since their children may be kept. */
function newName(used: ReadonlySet<string>): string {
  for (let number = 0; ; number++) {
    const name = `child${number}`;
    if (!used.has(name)) return name;
  }
}
