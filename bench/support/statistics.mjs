// Small statistics over repeated measurements.

/** The middle value; the mean of the two middle ones for an even count. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The value below which a share of the others is. @param share From 0 to 1. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))];
}

/** The values in a random order. */
export function shuffled(values) {
  const order = values.map((value) => ({ value, at: Math.random() }));
  return order.sort((a, b) => a.at - b.at).map(({ value }) => value);
}
