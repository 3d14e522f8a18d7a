import type { Steps } from '../../util/steps';

/** A digit has so many bits: its counts fit in the cache of the processor. */
const DIGIT_BITS = 11;
const DIGITS = 2 ** DIGIT_BITS;
/** The number of entries that are moved without a break. */
const MOVED_AT_ONCE = 16_384;

/** A digit of all numbers, from the lowest, while their indexes are sorted by it. */
interface DigitSort {
  readonly halves: Int32Array;
  readonly shift: number;
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Where the next index with each digit comes. */
  readonly next: Int32Array;
}

/**
 * Returns the indexes of pairs of signed numbers in their order; those of equal ones stay in theirs. By digits, from the lowest: no
 * hashes, however chosen, make it slower.
 */
export function* sortedOrder(highs: Int32Array, lows: Int32Array): Steps<Int32Array> {
  let from = new Int32Array(highs.length);
  for (let i = 0; i < from.length; i++) from[i] = i;
  let to = new Int32Array(from.length);
  for (const halves of [lows, highs]) {
    for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
      const sort = { halves, shift, from, to, next: firstPlaces(halves, shift) };
      for (let start = 0; start < from.length; start += MOVED_AT_ONCE) {
        if (start > 0) yield;
        moveByDigit(sort, start, Math.min(start + MOVED_AT_ONCE, from.length));
      }
      [from, to] = [to, from];
    }
  }
  return from;
}

/** The digit at a place of a signed number, as if it was more by 2 ** 31 and so unsigned. */
function digitOf(half: number, shift: number): number {
  return ((half ^ (1 << 31)) >>> shift) & (DIGITS - 1);
}

function firstPlaces(halves: Int32Array, shift: number): Int32Array {
  const places = new Int32Array(DIGITS + 1);
  for (let i = 0; i < halves.length; i++) add(places, digitOf(halves[i] ?? 0, shift) + 1, 1);
  for (let digit = 1; digit <= DIGITS; digit++) add(places, digit, places[digit - 1] ?? 0);
  return places;
}

function moveByDigit(sort: DigitSort, start: number, end: number): void {
  const { from, halves, next, shift, to } = sort;
  for (let i = start; i < end; i++) {
    const index = from[i] ?? 0;
    const digit = digitOf(halves[index] ?? 0, shift);
    const place = next[digit] ?? 0;
    to[place] = index;
    next[digit] = place + 1;
  }
}

function add(numbers: Int32Array, index: number, more: number): void {
  numbers[index] = (numbers[index] ?? 0) + more;
}
