import type { Steps } from '../../util/steps';

/** A digit is a byte: its counts fit in the cache of the processor. */
const DIGITS = 256;
/** The number of entries that are moved without a break. */
const MOVED_AT_ONCE = 8192;

/**
 * Returns the indexes of pairs of signed numbers in their order; those of equal ones stay in theirs. By digits, from the lowest: no
 * hashes, however chosen, make it slower.
 */
export function* sortedOrder(highs: Int32Array, lows: Int32Array): Steps<Int32Array> {
  let order = Int32Array.from(highs.keys());
  let next = new Int32Array(order.length);
  for (const halves of [lows, highs]) {
    for (let shift = 0; shift < 32; shift += 8) {
      yield* moveByDigit(order, next, (i) => digitOf(halves[i] ?? 0, shift));
      [order, next] = [next, order];
    }
  }
  return order;
}

/** The digit at a place of a signed number, as if it was more by 2 ** 31 and so unsigned. */
function digitOf(half: number, shift: number): number {
  return ((half ^ (1 << 31)) >>> shift) & (DIGITS - 1);
}

function* moveByDigit(
  from: Int32Array,
  to: Int32Array,
  digitAt: (index: number) => number,
): Steps<void> {
  const ends = new Int32Array(DIGITS + 1);
  for (const index of from) {
    const above = digitAt(index) + 1;
    ends[above] = (ends[above] ?? 0) + 1;
  }
  for (let digit = 1; digit <= DIGITS; digit++) {
    ends[digit] = (ends[digit] ?? 0) + (ends[digit - 1] ?? 0);
  }
  for (const [i, index] of from.entries()) {
    const digit = digitAt(index);
    const place = ends[digit] ?? 0;
    to[place] = index;
    ends[digit] = place + 1;
    if (i % MOVED_AT_ONCE === MOVED_AT_ONCE - 1) yield;
  }
}
