import type { Locality, LocalityEndpoints } from '../../resources/endpoints/endpoints';
import type { EndpointSet, WeightSums } from './endpoint-set';

/**
 * Returns the function that takes the weight of an endpoint within a locality to its weight among all of the priority.
 * @param sums Of the set of the locality.
 */
export type Weigher = (locality: LocalityEndpoints, sums: WeightSums) => (weight: number) => number;

/** 1 as an unsigned fixed-point number with 31 bits after the point, as in gRFC A113. */
const ONE = 2 ** 31;

/**
 * Returns what the weights of a set are shares of: its `whole`, or the sums of all its endpoints. The maker of a set with
 * fewer endpoints adds them to it.
 */
export function sumWeights({ localities, whole }: EndpointSet): WeightSums {
  if (whole !== undefined) return whole;
  const endpointSums = new Map<Locality, number>();
  let localitySum = 0;
  for (const { endpoints, locality, weight } of localities) {
    localitySum += weight;
    let sum = 0;
    for (const endpoint of endpoints) sum += endpoint.weight;
    endpointSums.set(locality, sum);
  }
  return { localities: localitySum, endpoints: endpointSums };
}

/**
 * Returns the function that takes the weight of an endpoint within a locality to its weight among all of the priority: its
 * share of the locality times the share of the locality (gRFC A113). At least 1; a share of 1 is 2^31.
 */
export function combinedWeigher(
  { locality, weight: localityWeight }: LocalityEndpoints,
  sums: WeightSums,
): (weight: number) => number {
  const localityShare = share(localityWeight, sums.localities);
  const sum = sums.endpoints.get(locality) ?? 0;
  let last = -1;
  let result = 0;
  return (weight) => {
    // Most endpoints weigh as much as the one before.
    if (weight !== last) {
      last = weight;
      result = Math.max(1, Math.floor((localityShare * share(weight, sum)) / ONE));
    }
    return result;
  };
}

/** Returns the weight of each endpoint among all, in the order of `endpointsByLocality`. */
export function combinedWeights(set: EndpointSet): Uint32Array {
  const sums = sumWeights(set);
  const { localities } = set;
  const combined = new Uint32Array(
    localities.reduce((count, { endpoints }) => count + endpoints.length, 0),
  );
  let position = 0;
  for (const locality of localities) {
    const weigh = combinedWeigher(locality, sums);
    for (const { weight } of locality.endpoints) combined[position++] = weigh(weight);
  }
  return combined;
}

function share(weight: number, sum: number): number {
  return Math.floor((weight * ONE) / sum);
}
