import { runSteps, STEP_SIZE, type Steps } from '../../util/steps';
import type { EndpointSet } from './endpoint-set';

/** 1 as an unsigned fixed-point number with 31 bits after the point, as in gRFC A113. */
const ONE = 2 ** 31;

/** The weight and the size of a locality. */
export interface WeighedLocality {
  readonly weight: number;
  readonly size: number;
}

/**
 * Returns the weight of each endpoint among all of them, in the order of `endpointsByLocality`: its share of its locality
 * times the share of the locality (gRFC A113). At least 1; a share of 1 is 2^31.
 */
export function combinedWeights({ localities }: EndpointSet): Uint32Array {
  const weights = localities.flatMap(({ endpoints }) => endpoints.map(({ weight }) => weight));
  const sizes = localities.map(({ endpoints, weight }) => ({ weight, size: endpoints.length }));
  const combined = Uint32Array.from(weights);
  runSteps(combineWeights(sizes, combined));
  return combined;
}

/**
 * Does the same with numbers, in steps.
 *
 * @param weights The weight of each endpoint within its locality, those of the first locality first. Replaced by its
 *   weight among all.
 */
export function* combineWeights(
  localities: readonly WeighedLocality[],
  weights: Uint32Array,
): Steps<void> {
  let localitySum = 0;
  for (const { weight } of localities) localitySum += weight;
  let start = 0;
  let operations = 0;
  for (const { weight, size } of localities) {
    const end = start + size;
    const sum = sumOf(weights, start, end);
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
