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
 * Returns the weight of each endpoint among all of them, in the order of `allEndpoints`: its share of its locality
 * times the share of the locality (gRFC A113). At least 1; a share of 1 is 2^31.
 */
export function combinedWeights({ localities }: EndpointSet): Float64Array {
  const weights = localities.flatMap(({ endpoints }) => endpoints.map(({ weight }) => weight));
  const sizes = localities.map(({ endpoints, weight }) => ({ weight, size: endpoints.length }));
  return runSteps(combineWeights(sizes, Uint32Array.from(weights)));
}

/**
 * Returns the same from numbers, in steps.
 *
 * @param own The weight of each endpoint within its locality; those of the first locality first.
 */
export function* combineWeights(
  localities: readonly WeighedLocality[],
  own: Uint32Array,
): Steps<Float64Array> {
  let localitySum = 0;
  for (const { weight } of localities) localitySum += weight;
  const combined = new Float64Array(own.length);
  let start = 0;
  let operations = 0;
  for (const { weight, size } of localities) {
    const end = start + size;
    const sum = sumOf(own, start, end);
    const localityShare = share(weight, localitySum);
    while (start < end) {
      const next = Math.min(end, start + STEP_SIZE);
      combineRange(own, { localityShare, sum }, combined, start, next);
      operations += next - start;
      start = next;
      if (operations < STEP_SIZE) continue;
      operations = 0;
      yield;
    }
  }
  return combined;
}

function sumOf(own: Uint32Array, start: number, end: number): number {
  let sum = 0;
  for (let i = start; i < end; i++) sum += own[i] ?? 0;
  return sum;
}

/** @param of The share of the locality, and the sum of the weights in it. */
function combineRange(
  own: Uint32Array,
  of: { readonly localityShare: number; readonly sum: number },
  combined: Float64Array,
  start: number,
  end: number,
): void {
  const { localityShare, sum } = of;
  let last = -1;
  let result = 0;
  for (let i = start; i < end; i++) {
    const weight = own[i] ?? 0;
    // Most endpoints weigh as much as the one before.
    if (weight !== last) {
      last = weight;
      result = Math.max(1, Math.floor((localityShare * share(weight, sum)) / ONE));
    }
    combined[i] = result;
  }
}

function share(weight: number, sum: number): number {
  return Math.floor((weight * ONE) / sum);
}
