/** Bits of a digit: its counts fit in the cache of the processor. */
const DIGIT_BITS = 11;
const DIGITS = 2 ** DIGIT_BITS;
/** The number of indexes that are moved without a break. */
const MOVED_AT_ONCE = 16_384;

/** The numbers that are sorted by one of their digits. */
interface Pass {
  readonly numbers: Int32Array;
  readonly shift: number;
}

/**
 * The indexes of pairs of signed numbers in their order; those of equal ones stay in theirs. Sorted by digits, from the lowest: no
 * hashes, however chosen, make it slower.
 */
export class SortedOrder {
  private readonly passes: Pass[];
  private to: Int32Array;
  /** Where the next index with each digit comes; `undefined` before a pass. */
  private places: Int32Array | undefined;
  /** The number of indexes that were moved in this pass. */
  private moved = 0;
  /** Complete when nothing is left to do. */
  order: Int32Array;

  constructor(highs: Int32Array, lows: Int32Array) {
    this.passes = [lows, highs].flatMap((numbers) =>
      [0, DIGIT_BITS, 2 * DIGIT_BITS].map((shift) => ({ numbers, shift })),
    );
    this.to = new Int32Array(highs.length);
    this.order = new Int32Array(highs.length);
    for (let i = 0; i < highs.length; i++) this.order[i] = i;
  }

  /** Does one part of the work, well below a millisecond. @returns Whether some is left. */
  advance(): boolean {
    for (let left = MOVED_AT_ONCE; left > 0;) {
      const [pass] = this.passes;
      if (pass === undefined) return false;
      left -= this.move(pass, (this.places ??= firstPlaces(pass)), left);
      if (this.moved === this.order.length) this.endPass();
    }
    return this.passes.length > 0;
  }

  private endPass(): void {
    [this.order, this.to] = [this.to, this.order];
    this.passes.shift();
    this.places = undefined;
    this.moved = 0;
  }

  /** @returns The number of indexes that were moved, which is limited. */
  private move({ numbers, shift }: Pass, places: Int32Array, atMost: number): number {
    const { moved, order, to } = this;
    const end = Math.min(moved + atMost, order.length);
    for (let i = moved; i < end; i++) {
      const index = order[i] ?? 0;
      const digit = digitOf(numbers[index] ?? 0, shift);
      const place = places[digit] ?? 0;
      to[place] = index;
      places[digit] = place + 1;
    }
    this.moved = end;
    return end - moved;
  }
}

/** The digit at a place of a signed number, as if it was more by 2 ** 31 and so unsigned. */
function digitOf(number: number, shift: number): number {
  return ((number ^ (1 << 31)) >>> shift) & (DIGITS - 1);
}

function firstPlaces({ numbers, shift }: Pass): Int32Array {
  const places = new Int32Array(DIGITS + 1);
  for (const number of numbers) {
    const above = digitOf(number, shift) + 1;
    places[above] = (places[above] ?? 0) + 1;
  }
  for (let digit = 1; digit <= DIGITS; digit++) {
    places[digit] = (places[digit] ?? 0) + (places[digit - 1] ?? 0);
  }
  return places;
}
