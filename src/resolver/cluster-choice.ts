import type { PreparedFilter } from '../http-filters/http-filter';
import type { ClusterSpecifier } from '../resources/route-config/route-config';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import type { ClusterRef, ClusterRefs } from './cluster-refs';

/** One cluster of a route. */
export interface RouteCluster {
  readonly ref: ClusterRef;
  readonly weight: number;
  /** The filters of its calls. */
  readonly filters: readonly PreparedFilter[];
}

/** The clusters of one route, each with a reference, and the draw among them. */
export class ClusterChoice implements Handle {
  /** Running sums of the weights, parallel to `clusters`. */
  private readonly thresholds: readonly number[];

  private constructor(readonly clusters: readonly RouteCluster[]) {
    let sum = 0;
    this.thresholds = clusters.map(({ weight }) => (sum += weight));
  }

  /**
   * Acquires a reference to every cluster of a route.
   * @param filters The filters of each cluster, in the order of the clusters.
   */
  static acquire(
    specifier: ClusterSpecifier,
    refs: ClusterRefs,
    filters: readonly (readonly PreparedFilter[])[],
  ): ClusterChoice {
    const named = specifier.kind === 'cluster' ? [{ ...specifier, weight: 1 }] : specifier.clusters;
    const clusters = named.map(({ name, weight }, i) => {
      return { ref: refs.acquire(name), weight, filters: filters[i] ?? [] };
    });
    return new ClusterChoice(clusters);
  }

  /** Draws one cluster by weight, regardless of its connectivity (gRFC A31). */
  draw(random: Random): RouteCluster {
    const { clusters, thresholds } = this;
    let low = 0;
    let high = clusters.length - 1;
    if (high > 0) {
      const point = random() * (thresholds[high] ?? 0);
      while (low < high) {
        const middle = (low + high) >> 1;
        if (point < (thresholds[middle] ?? 0)) high = middle;
        else low = middle + 1;
      }
    }
    const cluster = clusters[low];
    if (cluster === undefined) throw new Error('A route has no cluster to choose from');
    return cluster;
  }

  /** Finds the cluster whose child in the cluster manager has this name, such as `cluster:foo` (gRFC A60). */
  find(childName: string): RouteCluster | undefined {
    return this.clusters.find(({ ref }) => ref.childName === childName);
  }

  release(): void {
    for (const { ref } of this.clusters) ref.release();
  }
}
