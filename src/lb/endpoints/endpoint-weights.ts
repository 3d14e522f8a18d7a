import type { Locality } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { type EndpointSet, endpointsByLocality, type WeightSums } from './endpoint-set';

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
 * Returns the weight of each endpoint among all of its priority, in the order of `endpointsByLocality`: its share of its
 * locality times the share of the locality (gRFC A113). At least 1; a share of 1 is 2^31.
 */
export function* combinedWeights(set: EndpointSet): Steps<Uint32Array> {
  const count = set.localities.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
  const combined = new Uint32Array(count);
  let position = 0;
  for (const { weight } of endpointsByLocality(set)) {
    combined[position++] = weight;
    if (position % STEP_SIZE === 0) yield;
  }
  yield* combineWeights(set, combined);
  return combined;
}

/**
 * Does the same with numbers, in steps.
 *
 * @param weights The weight of each endpoint within its locality, in the order of `endpointsByLocality`. Replaced by its
 *   weight among all.
 */
export function* combineWeights(set: EndpointSet, weights: Uint32Array): Steps<void> {
  const { whole } = set;
  let localitySum = whole?.localities ?? 0;
  if (whole === undefined) for (const { weight } of set.localities) localitySum += weight;
  let start = 0;
  let operations = 0;
  for (const { endpoints, locality, weight } of set.localities) {
    const end = start + endpoints.length;
    const sum = whole?.endpoints.get(locality) ?? sumOf(weights, start, end);
    const localityShare = share(weight, localitySum);
    while (start < end) {
      const next = Math.min(end, start + STEP_SIZE);
      combineRange(weights, { localityShare, sum }, start, next);
      operations += next - start;
      start = next;
      if (operations < STEP_SIZE) continue;
      operations = 0;
      yield;
    }
  }
}

/**
 * Returns the products of the weights of endpoints and of their localities, which are their weights among all without gRFC
 * A113. They may exceed 2^32, where those of grpc-go and C-core wrap around.
 *
 * @param weights As for `combineWeights`; not changed.
 */
export function* multiplyWeights(
  { localities }: EndpointSet,
  weights: Uint32Array,
): Steps<Float64Array> {
  const products = new Float64Array(weights);
  let position = 0;
  for (const { endpoints, weight } of localities) {
    for (const end = position + endpoints.length; position < end; position++) {
      products[position] = weight * (products[position] ?? 0);
      if (position % STEP_SIZE === STEP_SIZE - 1) yield;
    }
  }
  return products;
}

function sumOf(weights: Uint32Array, start: number, end: number): number {
  let sum = 0;
  for (let i = start; i < end; i++) sum += weights[i] ?? 0;
  return sum;
}

/** @param of The share of the locality, and the sum of the weights in it. */
function combineRange(
  weights: Uint32Array,
  of: { readonly localityShare: number; readonly sum: number },
  start: number,
  end: number,
): void {
  const { localityShare, sum } = of;
  let last = -1;
  let result = 0;
  for (let i = start; i < end; i++) {
    const weight = weights[i] ?? 0;
    // Most endpoints weigh as much as the one before.
    if (weight !== last) {
      last = weight;
      result = Math.max(1, Math.floor((localityShare * share(weight, sum)) / ONE));
    }
    weights[i] = result;
  }
}

function share(weight: number, sum: number): number {
  return Math.floor((weight * ONE) / sum);
}
