/** Characters of a text from outside that a message quotes by default. */
export const MAX_QUOTED_LENGTH = 256;

/**
 * Returns the text, or its beginning and `…` if it is longer. Texts from outside are cut before anything else is done to
 * them, because that takes time for every character.
 */
export function cutText(text: string, maxLength: number): string {
  return text.length > maxLength ? `${startOf(text, maxLength)}…` : text;
}

/** Quotes a text from outside as JSON, cut. */
export function quoteText(text: string, maxLength = MAX_QUOTED_LENGTH): string {
  return JSON.stringify(cutText(text, maxLength));
}

/** Returns the beginning of a text, without half of a character that two code units make up. */
function startOf(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalf ? length - 1 : length);
}
