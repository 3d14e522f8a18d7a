import type { Random } from '../../util/random';

const INITIAL_CAPACITY = 16;

/**
 * Chooses among items by weight, spread evenly over time: the static-stride scheduler of gRFC A58. It visits all items in
 * rounds; of {@link FULL_WEIGHT} rounds, an item is chosen in as many as its weight, at even distances. So at any time, the
 * number of times an item was chosen differs by less than one from its exact share. Equal weights give round robin.
 *
 * Weights change in place, without a restart: no item loses the credit it has collected, and many clients that receive new
 * weights at the same time do not all continue with the same item.
 */
export class StrideScheduler {
  private count = 0;
  private position = 0;
  private meanWeight = FULL_WEIGHT;
  private weights = new Uint16Array(INITIAL_CAPACITY);
  /** The credit of each item, which is chosen at `FULL_WEIGHT`. */
  private credits = new Uint16Array(INITIAL_CAPACITY);

  constructor(private readonly random: Random) {}

  get size(): number {
    return this.count;
  }

  /** Adds an item at the end, with average weight and random credit. */
  add(): void {
    if (this.count === this.weights.length) {
      this.weights = grow(this.weights);
      this.credits = grow(this.credits);
    }
    this.weights[this.count] = this.meanWeight;
    this.credits[this.count] = this.random() * FULL_WEIGHT;
    this.count++;
  }

  /** Removes an item. The last item takes its index. */
  remove(index: number): void {
    this.count--;
    this.weights[index] = this.weights[this.count] ?? 0;
    this.credits[index] = this.credits[this.count] ?? 0;
  }

  setWeights({ weights, mean }: ScaledWeights): void {
    this.weights.set(weights);
    this.meanWeight = mean;
  }

  /** Continues with a random item. */
  shuffle(): void {
    this.position = Math.floor(this.random() * this.count);
  }

  /** Returns the index of the next item; -1 if there are no items. */
  next(): number {
    const { weights, credits, count } = this;
    if (count === 0) return -1;
    let index = this.position;
    for (;;) {
      if (index >= count) index = 0;
      const credit = (credits[index] ?? 0) + (weights[index] ?? 0);
      if (credit >= FULL_WEIGHT) {
        credits[index] = credit - FULL_WEIGHT;
        this.position = index + 1;
        return index;
      }
      credits[index] = credit;
      index++;
    }
  }
}

function grow(array: Uint16Array): Uint16Array<ArrayBuffer> {
  const grown = new Uint16Array(array.length * 2);
  grown.set(array);
  return grown;
}

/** The scaled weight of an item that is chosen in every round. */
export const FULL_WEIGHT = 65_535;

/** Weights for the scheduler: whole numbers from 1 to {@link FULL_WEIGHT}. */
export interface ScaledWeights {
  readonly weights: Uint16Array;
  /** The weight of items without one. */
  readonly mean: number;
  /** The number of items with a weight of their own. */
  readonly known: number;
}

/** With fewer weights than this, all items weigh the same (gRFC A58). */
export const MIN_WEIGHTS = 2;

// Weights are limited to these multiples of the mean (docs/decisions/resource-validation.md), which bounds the search for the next endpoint:
// with 10,000 endpoints of which one reports a million times the weight of the others, nearly every step would be wasted.
const MAX_OVER_MEAN = 10;
const MIN_OVER_MEAN = 0.1;

/**
 * Scales weights so that the greatest becomes {@link FULL_WEIGHT}. Items without a weight get the mean of the others. With
 * fewer than two weights, all items weigh the same (gRFC A58).
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
  if (known < MIN_WEIGHTS) {
    const equal = new Uint16Array(weights.length).fill(FULL_WEIGHT);
    return { weights: equal, mean: FULL_WEIGHT, known };
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
  return { weights: scaled, mean: scaledMean, known };
}
