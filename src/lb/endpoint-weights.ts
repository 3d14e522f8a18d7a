import type { EndpointSet } from './endpoint-set';

/** 1 as the gRFC writes fractions: unsigned fixed-point numbers with 31 bits after the point. */
const ONE = 2 ** 31;

/**
 * The weight of each endpoint among all of them, in the order of `allEndpoints`: its share of its locality
 * times the share of the locality (gRFC A113). At least 1; an endpoint that has everything weighs 2^31.
 */
export function combinedWeights({ localities }: EndpointSet): Float64Array {
  let count = 0;
  let localitySum = 0;
  for (const { endpoints, weight } of localities) {
    count += endpoints.length;
    localitySum += weight;
  }
  const weights = new Float64Array(count);
  let next = 0;
  for (const { endpoints, weight } of localities) {
    const localityShare = share(weight, localitySum);
    let sum = 0;
    for (const endpoint of endpoints) sum += endpoint.weight;
    for (const endpoint of endpoints) {
      const product = localityShare * share(endpoint.weight, sum);
      weights[next++] = Math.max(1, Math.floor(product / ONE));
    }
  }
  return weights;
}

function share(weight: number, sum: number): number {
  return Math.floor((weight * ONE) / sum);
}
