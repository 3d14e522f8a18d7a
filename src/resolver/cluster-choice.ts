import type { PreparedFilter } from '../http-filters/http-filter';
import type { ClusterSpecifier } from '../resources/route-config/route-config';
import type { Random } from '../util/random';
import type { ClusterRef } from './cluster-refs';

/** One cluster of a route. */
export interface RouteCluster {
  readonly ref: ClusterRef;
  readonly weight: number;
  readonly filters: readonly PreparedFilter[];
}

/** The clusters of one route and the draw among them. */
export class ClusterChoice {
  readonly clusters: readonly RouteCluster[];
  /** Running sums of the weights, parallel to `clusters`. */
  private readonly thresholds: readonly number[];
  /** Created for the first call with a session cookie. */
  private byChildName: ReadonlyMap<string, RouteCluster> | undefined;

  /**
   * @param refOf Returns the reference to a cluster, which belongs to the owner of the choice.
   * @param filters The filters of each cluster, in the order of the clusters.
   */
  constructor(
    specifier: ClusterSpecifier,
    refOf: (cluster: string) => ClusterRef,
    filters: readonly (readonly PreparedFilter[])[],
  ) {
    const named = specifier.kind === 'cluster' ? [{ ...specifier, weight: 1 }] : specifier.clusters;
    this.clusters = named.map(({ name, weight }, i) => {
      return { ref: refOf(name), weight, filters: filters[i] ?? [] };
    });
    let sum = 0;
    this.thresholds = named.map(({ weight }) => (sum += weight));
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
    // Of several with one name, the first is found.
    this.byChildName ??= new Map(
      this.clusters.toReversed().map((each) => [each.ref.childName, each]),
    );
    return this.byChildName.get(childName);
  }
}
