/**
 * The text of grpc-js for a pick without a connection
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/load-balancer-pick-first.ts, `calculateAndReportNewState`).
 * A text of another form is used whole.
 */
const CONNECTION_FAILED =
  /^No connection established\. Last error: (?:Error: )?(.*?)(?: \(\d{4}-\d\d-\d\dT[\d:.]+Z\))?\. Resolution note: (.*)$/s;

/**
 * The text of a status as one line; of a failed connection, only the cause, out of how the channel words it.
 * Without the time of day, the same failure has the same words each time, so that it is logged once.
 */
export function describeDetails(details: string): string {
  const [, cause = details, note = ''] = CONNECTION_FAILED.exec(details) ?? [];
  const text = note === '' ? cause : `${cause} (${note})`;
  return text.replace(/\s+/g, ' ').trim();
}
