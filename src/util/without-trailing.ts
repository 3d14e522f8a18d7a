/** Removes every such character from the end of a text, which a regular expression would look for at each of its places. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
