/** Returns by how much values grow from one to the next, by least squares, and how uncertain that is (standard error). */
export function slopeOf(values: readonly number[]): {
  readonly slope: number;
  readonly error: number;
} {
  const meanX = (values.length - 1) / 2;
  const meanY = values.reduce((sum, y) => sum + y, 0) / values.length;
  const sumXX = values.reduce((sum, _, x) => sum + (x - meanX) ** 2, 0);
  const sumXY = values.reduce((sum, y, x) => sum + (x - meanX) * (y - meanY), 0);
  const slope = sumXY / sumXX;
  const residues = values.reduce((sum, y, x) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  const error = Math.sqrt(residues / Math.max(1, values.length - 2) / sumXX);
  return { slope, error };
}
