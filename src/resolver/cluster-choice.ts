import type { ClusterSpecifier } from '../resources/route-config';
import type { Random } from '../util/random';
import type { PreparedFilter } from '../http-filters/http-filter';
import type { ClusterRef, ClusterRefs } from './cluster-refs';

/** One cluster of a route, with the filters of the calls that go there. */
export interface RouteCluster {
  readonly ref: ClusterRef;
  readonly filters: readonly PreparedFilter[];
}

/** The clusters of one route, each held, and the draw among them. */
export class ClusterChoice {
  private constructor(
    private readonly clusters: readonly RouteCluster[],
    /** Running sums of the weights, parallel to `clusters`. */
    private readonly thresholds: readonly number[],
  ) {}

  /**
   * Takes hold of every cluster of the route.
   * @param filters Those of each cluster, in the order of the clusters.
   */
  static hold(
    specifier: ClusterSpecifier,
    refs: ClusterRefs,
    filters: readonly (readonly PreparedFilter[])[],
  ): ClusterChoice {
    const chosen =
      specifier.kind === 'cluster' ? [{ ...specifier, weight: 1 }] : specifier.clusters;
    let sum = 0;
    const thresholds = chosen.map(({ weight }) => (sum += weight));
    const clusters = chosen.map(({ name }, i) => {
      return { ref: refs.hold(name), filters: filters[i] ?? [] };
    });
    return new ClusterChoice(clusters, thresholds);
  }

  /** One cluster by weight, whatever its connectivity (gRFC A31). */
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

  /** The cluster whose child in the cluster manager has this name, such as `cluster:foo` (gRFC A60). */
  find(childName: string): RouteCluster | undefined {
    return this.clusters.find(({ ref }) => ref.childName === childName);
  }

  /** Lets go of every cluster. */
  letGo(): void {
    for (const { ref } of this.clusters) ref.letGo();
  }
}
