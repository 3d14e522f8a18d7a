/** The scaled weight of what is to be chosen in every round. */
export const FULL_WEIGHT = 65_535;

/** Weights as the scheduler wants them: whole numbers from 1 to {@link FULL_WEIGHT}. */
export interface ScaledWeights {
  readonly weights: Uint16Array;
  /** What stands for a weight that is not known. */
  readonly mean: number;
}

// Weights beyond these multiples of the mean are taken for the nearest that is not. They bound the search for
// the next endpoint: at 10,000 endpoints of which one reports a million times the weight of the others,
// nearly every step would be in vain.
const MAX_OVER_MEAN = 10;
const MIN_OVER_MEAN = 0.1;

/**
 * Scales weights so that the greatest becomes {@link FULL_WEIGHT}. What has no weight gets the mean of the
 * others. With fewer than two weights there is nothing to compare, and all are the same (gRFC A58).
 *
 * @param weights 0 where there is none.
 */
export function scaleWeights(weights: Float64Array): ScaledWeights {
  let known = 0;
  let sum = 0;
  let greatest = 0;
  for (const weight of weights) {
    if (weight === 0) continue;
    known++;
    sum += weight;
    if (weight > greatest) greatest = weight;
  }
  if (known < 2) {
    return { weights: new Uint16Array(weights.length).fill(FULL_WEIGHT), mean: FULL_WEIGHT };
  }
  const mean = sum / known;
  const max = Math.min(greatest, mean * MAX_OVER_MEAN);
  const min = mean * MIN_OVER_MEAN;
  const scale = (weight: number) =>
    Math.round((Math.min(Math.max(weight, min), max) / max) * FULL_WEIGHT);
  const scaledMean = scale(mean);
  const scaled = new Uint16Array(weights.length);
  let index = 0;
  for (const weight of weights) scaled[index++] = weight === 0 ? scaledMean : scale(weight);
  return { weights: scaled, mean: scaledMean };
}
