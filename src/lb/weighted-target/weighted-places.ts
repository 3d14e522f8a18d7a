/** The number of places at the start: a power of two, as always. */
const INITIAL_CAPACITY = 4;

/**
 * The weights of places 0, 1, 2 and so on, of which one is chosen in proportion to its weight. Changing a weight and choosing a
 * place take time in proportion to the logarithm of the number of places: a binary indexed tree.
 */
export class WeightedPlaces {
  /** At index i the sum of the weights of as many places as the lowest set bit of i says, up to place i - 1. */
  private sums = new Float64Array(INITIAL_CAPACITY + 1);
  private sum = 0;

  /** The sum of all weights: a double, which is exact up to 2^53. */
  get total(): number {
    return this.sum;
  }

  /** Adds to the weight of a place, which is 0 at first. */
  add(place: number, weight: number): void {
    while (place >= this.capacity) this.grow();
    this.sum += weight;
    for (let i = place + 1; i <= this.capacity; i += i & -i) {
      this.sums[i] = (this.sums[i] ?? 0) + weight;
    }
  }

  /**
   * Returns the place at a point: the first one such that the weights up to it, included, exceed the point.
   *
   * @param point From 0 up to, not including, the total.
   */
  choose(point: number): number {
    const { capacity, sums } = this;
    let place = 0;
    let rest = point;
    for (let step = capacity >>> 1; step > 0; step >>>= 1) {
      const sum = sums[place + step] ?? 0;
      if (sum > rest) continue;
      place += step;
      rest -= sum;
    }
    return place;
  }

  private get capacity(): number {
    return this.sums.length - 1;
  }

  /** Doubles the number of places. The sum of the first half is that of all places so far. */
  private grow(): void {
    const grown = new Float64Array(2 * this.capacity + 1);
    grown.set(this.sums);
    grown[2 * this.capacity] = this.sum;
    this.sums = grown;
  }
}
