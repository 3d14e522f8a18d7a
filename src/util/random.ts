/** A source of numbers uniform in [0, 1). */
export type Random = () => number;

/** `Math.random`. */
export const systemRandom: Random = () => Math.random();

/** Returns a name that no other one made in these processes is equal to, for all practical purposes. */
export function createName(random: Random): string {
  return [random(), random()].map((number) => number.toString(36).slice(2)).join('');
}
