import type { ReadRates, RateColumns } from 'grpc-xds/internal';
import { describeShare } from './share-text';
import type { TopologyNode } from './topology';

/** Returns the attempts on a group of endpoints, and on its connections; `undefined` if none is counted. */
export function groupRates(rates: ReadRates, node: TopologyNode): RateColumns | undefined {
  if (node.details['cluster'] !== undefined) return rates.ofClusters([String(node.cluster)]);
  if (node.cluster === undefined) return rates.ofClusters(new Set(clustersIn(node)));
  return rates.ofEndpoints(node.cluster, addressesIn(node));
}

/** Says what share of the attempts a locality got among those beside it; `undefined` without attempts, and for other groups. */
export function localityShare(
  rates: ReadRates,
  node: TopologyNode,
  siblings: readonly TopologyNode[],
): string | undefined {
  const { cluster, kind } = node;
  if (kind !== 'locality' || cluster === undefined || siblings.length < 2) return undefined;
  const calls = rates.startedOn(cluster, addressesIn(node));
  let [of, weights] = [0, 0];
  for (const sibling of siblings) {
    of += rates.startedOn(cluster, addressesIn(sibling));
    weights += weightOf(sibling);
  }
  if (of === 0 || weights === 0) return undefined;
  return describeShare(weightOf(node) / weights, { got: calls / of, calls, of }, 'attempts');
}

function weightOf({ details: { weight } }: TopologyNode): number {
  return typeof weight === 'number' ? weight : 0;
}

function* addressesIn({ endpoints, children }: TopologyNode): Iterable<string> {
  for (const { addresses } of endpoints) yield* addresses;
  for (const child of children) yield* addressesIn(child);
}

function* clustersIn({ cluster, children }: TopologyNode): Iterable<string> {
  if (cluster !== undefined) yield cluster;
  else for (const child of children) yield* clustersIn(child);
}
