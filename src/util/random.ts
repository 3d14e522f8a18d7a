/** A source of numbers uniform in [0, 1). */
export type Random = () => number;

/** `Math.random`. */
export const systemRandom: Random = () => Math.random();
