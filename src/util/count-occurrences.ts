/** Returns how often a text or its bytes have a part; stops after the limit. Occurrences do not overlap. */
export function countOccurrences(
  text: { indexOf(part: string, from: number): number },
  part: string,
  limit = Infinity,
): number {
  let count = 0;
  let at = text.indexOf(part, 0);
  while (at >= 0 && count <= limit) {
    count++;
    at = text.indexOf(part, at + part.length);
  }
  return count;
}
