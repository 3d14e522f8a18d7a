import { MILLION } from '../resources/shared/fraction-parser';
import type { Random } from '../util/random';

/** Draws whether a call is in a share: never for 0, always for a million, and without a random number for either. */
export function drawShare(perMillion: number, random: Random): boolean {
  return perMillion > 0 && (perMillion >= MILLION || random() * MILLION < perMillion);
}
