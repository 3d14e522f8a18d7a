import type { AggregateBounds } from './aggregate-clusters';

/**
 * Steps through aggregates in one build of a config. A step takes about 0.1 µs, and each may add to a list of leaves.
 * Without a bound, n aggregates that share n leaves would take n² of both.
 */
const MAX_AGGREGATE_STEPS = 1_000_000;

/**
 * Decides which clusters of a target are watched: those that its routes or subscribers name, and those that
 * aggregates name for as long as the target has no more than its limit.
 */
export class ClusterAdmission implements AggregateBounds {
  private readonly admitted: Set<string>;
  private readonly refused = new Set<string>();
  private room: number;
  private steps = 0;

  /**
   * @param fromRoutes Not more than the limit.
   * @param subscribed Clusters that running calls still use. They were admitted when a route named them.
   * @param limit `Limits.maxClustersPerTarget`.
   */
  constructor(
    fromRoutes: ReadonlySet<string>,
    subscribed: Iterable<string>,
    private readonly limit: number,
  ) {
    this.admitted = new Set(fromRoutes);
    this.room = limit - fromRoutes.size;
    for (const name of subscribed) this.admitted.add(name);
  }

  /** The clusters that no aggregate has to name. */
  roots(): readonly string[] {
    return [...this.admitted];
  }

  /**
   * Admits the clusters that an aggregate names: all of them, or none if they are too many.
   *
   * @returns those that were not admitted before.
   */
  admit(aggregate: string, clusters: readonly string[]): ReadonlySet<string> {
    const fresh = new Set<string>();
    for (const name of clusters) {
      if (this.admitted.has(name)) continue;
      fresh.add(name);
      if (fresh.size <= this.room) continue;
      this.refused.add(aggregate);
      return new Set();
    }
    this.room -= fresh.size;
    for (const name of fresh) this.admitted.add(name);
    return fresh;
  }

  refusalOf(aggregate: string): string | undefined {
    if (!this.refused.has(aggregate)) return undefined;
    return `is rejected: the clusters that "${aggregate}" names would exceed the limit maxClustersPerTarget (${this.limit})`;
  }

  step(): string | undefined {
    this.steps++;
    if (this.steps <= MAX_AGGREGATE_STEPS) return undefined;
    return `is rejected: the aggregate clusters of the target name more than ${MAX_AGGREGATE_STEPS} clusters, counted once per path`;
  }
}

/** What is wrong with routes that name more clusters than a target may have; `undefined` if they do not. */
export function checkClusterCount(
  routeConfigName: string,
  { size }: ReadonlySet<string>,
  limit: number,
): string | undefined {
  if (size <= limit) return undefined;
  return `RouteConfiguration "${routeConfigName}" is rejected: its virtual host names ${size} clusters, more than the limit maxClustersPerTarget (${limit})`;
}
