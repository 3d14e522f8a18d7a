const DURATION = /^(\d{1,12}(?:\.\d{1,9})?)s$/;

/** Milliseconds of a duration in the JSON form of protocol buffers, such as `1.5s`; `undefined` if it is none. */
export function parseDurationString(text: string): number | undefined {
  const seconds = DURATION.exec(text)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
