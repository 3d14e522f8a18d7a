const DURATION = /^(\d{1,12}(?:\.\d{1,9})?)s$/;

/** Milliseconds of a duration in the JSON form of protocol buffers, such as `1.5s`; `undefined` if it is none. */
export function parseDurationString(text: string): number | undefined {
  const seconds = DURATION.exec(text)?.[1];
  // Whole nanoseconds first: 1.001 times 1000 is a little less than 1001.
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1e9) / 1e6;
}

/** The JSON form of milliseconds, which {@link parseDurationString} parses to the same number. */
export function formatDurationString(ms: number): string {
  const text = (ms / 1000).toFixed(9).replace(/\.?0+$/, '');
  return `${text}s`;
}
