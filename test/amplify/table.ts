import type { Outcome } from './amplify';
import { WAYS } from './fillings';

const MAX_VERDICT_LENGTH = 60;

/**
 * Formats outcomes as a table in Markdown, a row for each field.
 * @param scope Of how many fields and bytes; written above the table.
 */
export function formatTable(
  outcomes: readonly Outcome[],
  ignoredMs: number,
  scope: string,
): string {
  const byField = new Map<string, Outcome[]>();
  for (const outcome of outcomes) {
    const { name } = outcome.place;
    byField.set(name, [...(byField.get(name) ?? []), outcome]);
  }
  const rows = [...byField].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    `${scope} A message of the same size whose bytes are ignored: ${ignoredMs.toFixed(0)} ms.`,
    '',
    '<!-- prettier-ignore -->',
    `| Field | ${WAYS.join(' | ')} |`,
    `| --- | ${WAYS.map(() => '---').join(' | ')} |`,
    ...rows.map(([name, each]) => `| \`${name}\` | ${each.map(cell).join(' | ')} |`),
    '',
  ].join('\n');
}

function cell({ pauseMs, memoryMb, verdict }: Outcome): string {
  return `${pauseMs.toFixed(0)} ms, ${memoryMb.toFixed(0)} MB, ${shorten(verdict)}`;
}

/** The first reason of a rejection, without the path and the names in front of it. */
function shorten(verdict: string): string {
  if (!verdict.startsWith('rejected')) return verdict.slice(0, MAX_VERDICT_LENGTH);
  const limit =
    /(more than \d+ fields in one \w+|exceeds? the limit[^;,\]]*|must not have more than[^;,]*)/.exec(
      verdict,
    );
  return limit === null ? 'rejected' : `rejected: ${limit[0].slice(0, MAX_VERDICT_LENGTH)}`;
}
