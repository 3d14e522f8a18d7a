import type {
  WeightedCluster as WeightedClusterMessage,
  WeightedCluster_ClusterWeight,
} from '../../wire/generated/envoy/config/route/v3/route_components';
import type { Violations } from '../../util/violations';
import type { HttpFilterParser } from '../extension-points';
import { parseFilterOverrides } from '../listener/http-filters-parser';
import { MAX_TOTAL_WEIGHT } from '../matching/fraction-parser';
import type { ClusterSpecifier, WeightedCluster } from './route-config';

/**
 * Parses weighted clusters; `undefined` after adding a violation (gRFC A28). Of clusters without weight, which are
 * validated as well, the names are kept; the deprecated `total_weight` is ignored.
 */
export function parseWeightedClusters(
  { clusters }: WeightedClusterMessage,
  filters: HttpFilterParser,
  violations: Violations,
): ClusterSpecifier | undefined {
  const at = violations.at('clusters');
  const all = clusters.map((cluster, i) => parseCluster(cluster, filters, at.index(i)));
  const weighted = all.filter(({ weight }) => weight > 0);
  const totalWeight = weighted.reduce((sum, { weight }) => sum + weight, 0);
  if (totalWeight > 0 && totalWeight <= MAX_TOTAL_WEIGHT) {
    const drawn = new Set(weighted.map(({ name }) => name));
    const others = new Set(all.map(({ name }) => name).filter((name) => !drawn.has(name)));
    return { kind: 'weighted', clusters: weighted, totalWeight, zeroWeight: [...others] };
  }
  return at.add(
    totalWeight === 0
      ? 'must have a cluster with a weight greater than 0'
      : `the sum of the weights must not exceed ${MAX_TOTAL_WEIGHT}, but is ${totalWeight}`,
  );
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
