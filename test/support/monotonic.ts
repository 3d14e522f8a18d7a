/** Returns the time of the monotonic clock of the machine, which all processes share, in milliseconds. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
