/** A source of numbers uniform in [0, 1). */
export type Random = () => number;

/** The real randomness. */
export const systemRandom: Random = () => Math.random();
