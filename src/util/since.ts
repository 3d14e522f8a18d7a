/** The time that was formatted last: a hundred thousand resources may fail at the same one. */
let latest = { timeMs: 0, text: new Date(0).toISOString() };

/** Formats a time: ISO 8601 in UTC. */
export function toIso(timeMs: number): string {
  if (latest.timeMs !== timeMs) latest = { timeMs, text: new Date(timeMs).toISOString() };
  return latest.text;
}

const SINCE = ' (failing since ';
const WHOLE = / \((?:failing|waiting) since [^)]*\)/g;

/**
 * Adds to the text of a failure since when it lasts. A time, not a duration: the text stays the same while the failure
 * lasts, so that it is made once, and a log writes it once.
 *
 * @param sinceMs Milliseconds since the epoch.
 */
export function withSince(text: string, sinceMs: number): string {
  return `${text}${SINCE}${toIso(sinceMs)})`;
}

/**
 * Returns the message of an error with since when it lasts: if the error has no time, since the given one.
 *
 * @param sinceMs Milliseconds since the epoch.
 */
export function datedMessage(
  { message, sinceMs: said }: { message: string; sinceMs?: number },
  sinceMs: number,
): string {
  return said === undefined ? withSince(message, sinceMs) : message;
}

/** Removes from a text since when a failure or a wait lasts, to compare the rest. */
export function withoutSince(text: string): string {
  return text.replace(WHOLE, '');
}
