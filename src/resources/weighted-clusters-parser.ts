import type {
  WeightedCluster as WeightedClusterMessage,
  WeightedCluster_ClusterWeight,
} from '../generated/envoy/config/route/v3/route_components';
import type { Violations } from '../util/violations';
import type { HttpFilterParser } from './extension-points';
import { parseFilterOverrides } from './filter-overrides-parser';
import type { ClusterSpecifier, WeightedCluster } from './route-config';
import { MAX_TOTAL_WEIGHT } from './shared/total-weight';

/**
 * `undefined` after adding a violation (gRFC A28). Clusters without weight are validated and left out; the
 * deprecated `total_weight` is not looked at.
 */
export function parseWeightedClusters(
  { clusters }: WeightedClusterMessage,
  filters: HttpFilterParser,
  violations: Violations,
): ClusterSpecifier | undefined {
  const at = violations.at('clusters');
  const weighted = clusters
    .map((cluster, i) => parseCluster(cluster, filters, at.index(i)))
    .filter(({ weight }) => weight > 0);
  const totalWeight = weighted.reduce((sum, { weight }) => sum + weight, 0);
  if (totalWeight > 0 && totalWeight <= MAX_TOTAL_WEIGHT) {
    return { kind: 'weighted', clusters: weighted, totalWeight };
  }
  at.add(
    totalWeight === 0
      ? 'must have a cluster with a weight greater than 0'
      : `the sum of the weights must not exceed ${MAX_TOTAL_WEIGHT}, but is ${totalWeight}`,
  );
  return undefined;
}

function parseCluster(
  { name, weight = 0, typedPerFilterConfig }: WeightedCluster_ClusterWeight,
  filters: HttpFilterParser,
  violations: Violations,
): WeightedCluster {
  if (name === '') violations.at('name').add('must not be empty');
  const filterOverrides = parseFilterOverrides(
    typedPerFilterConfig,
    filters,
    violations.at('typed_per_filter_config'),
  );
  return { name, weight, filterOverrides };
}
