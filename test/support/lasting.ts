/** Matches a text that ends with since when a failure lasts. */
export function lasting(text: string): string {
  const literal = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern = new RegExp(`^${literal} \\(failing since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\\)$`);
  return expect.stringMatching(pattern) as string;
}
