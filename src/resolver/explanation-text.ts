import { inspect } from 'node:util';
import type { CallExplanation, RouteDecision, RoutedCall, RouteOutcome } from './explain-call';
import type { RetryPolicy } from '../resources/route-config/route-config';
import { ATTEMPTS_OPTION, DEFAULT_ATTEMPTS } from './attempts';
import { joinLines, quoteText } from '../util/text';

/** Gives an explanation a text form for people, for `String` and `console.log`. Its members stay plain data. */
export function withText<Explanation extends CallExplanation>(
  explanation: Explanation,
): Explanation {
  const value = () => formatExplanation(explanation);
  return Object.defineProperties(explanation, {
    toString: { value },
    [inspect.custom]: { value },
  });
}

/** Formats an explanation, in several lines. */
export function formatExplanation(explanation: CallExplanation): string {
  if (explanation.kind === 'unrouted') {
    const { reason, waitingFor } = explanation;
    return joinLines([`not routed: ${reason}`, ...waitingFor.map((line) => `  ${line}`)]);
  }
  return joinLines([
    `virtual host ${quoteText(explanation.virtualHost)}`,
    ...explanation.routes.map((trial) => `  ${formatTrial(trial)}`),
    ...explanation.decisions.flatMap(formatDecision),
    ...formatUnmatched(explanation),
    ...formatUnused(explanation),
    ...explanation.heldBack.map((line) => `held back: ${line}`),
  ]);
}

function formatTrial({ index, name, mismatch, share }: RoutedCall['routes'][number]): string {
  const verdict = mismatch ?? (share === 1 ? 'matches' : `matches ${percent(share)} of calls`);
  return `${formatRoute({ index, name })}: ${verdict}`;
}

function formatDecision({ index, name, share, outcome }: RouteDecision): readonly string[] {
  const subject = `${percent(share)} by ${formatRoute({ index, name })}`;
  if (outcome.kind === 'fail') return [`${subject}: fails: ${outcome.reason}`];
  return [`${subject}:`, ...formatForward(outcome).map((line) => `  ${line}`)];
}

function formatForward({
  clusters,
  timeoutMs,
  retry,
  hashInputs,
}: Extract<RouteOutcome, { kind: 'forward' }>): readonly string[] {
  const hash = hashInputs.map(
    ({ policy, text }) => `${policy}${text === undefined ? ' (absent)' : ''}`,
  );
  return [
    ...clusters.map(({ name, share, filters }) => {
      const through = filters.map((filter) => filter.name).join(', ');
      return `${percent(share)} to cluster ${quoteText(name)}${through && `, through ${through}`}`;
    }),
    timeoutMs === undefined ? 'no timeout of the route' : `timeout ${timeoutMs} ms`,
    retry === undefined ? 'no retries' : formatRetry(retry),
    ...(hash.length === 0 ? [] : [`hash of ${hash.join(', ')}`]),
  ];
}

function formatRetry({ maxAttempts, retryOn }: RetryPolicy): string {
  const limit =
    maxAttempts > DEFAULT_ATTEMPTS
      ? ` (${DEFAULT_ATTEMPTS} without the channel option ${ATTEMPTS_OPTION})`
      : '';
  return `at most ${maxAttempts} attempts${limit}, on ${retryOn.join(', ')}`;
}

function formatUnmatched({ unmatchedShare }: RoutedCall): readonly string[] {
  if (unmatchedShare === 0) return [];
  return [`${percent(unmatchedShare)} without a route: fails with UNAVAILABLE`];
}

function formatUnused({ unusedFields }: RoutedCall): readonly string[] {
  return unusedFields.map(
    ({ resource, fields }) => `${resource}: without effect: ${fields.join(', ')}`,
  );
}

function formatRoute({ index, name }: Pick<RouteDecision, 'index' | 'name'>): string {
  return name === '' ? `route ${index}` : `route ${index} ${quoteText(name)}`;
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))} %`;
}
