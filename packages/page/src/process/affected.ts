import type { Row } from '../live-page/view';
import { SERVER_TARGET } from '../../../../src/util/report-targets';
import { describeFailing, failuresOf } from './call-faults';
import { firstOf, joinFirst, percentFailing } from '../graph/words';

/** Targets and callers that are named. */
const MAX_TARGETS = 5;
const MAX_CALLERS = 3;

/**
 * Says who calls what, of the calls that fail or wait.
 *
 * @param targets Their rows.
 * @param process Its name, and the clients that are connected to it.
 */
export function describeAffected(
  targets: readonly Partial<Row>[],
  { self, callers }: { readonly self: string; readonly callers: readonly string[] },
): string {
  const named = joinFirst(callers, MAX_CALLERS);
  const affected = targets.flatMap((row) => {
    const what = describeCalls(row);
    if (what === undefined) return [];
    const isServer = row.id === SERVER_TARGET;
    const way = isServer ? `${named || 'clients'} → ${self}` : `${self} → ${String(row.target)}`;
    return [`${way}: ${what}`];
  });
  if (affected.length === 0) {
    const uncounted = targets.filter(({ sameTarget }) => sameTarget !== undefined);
    if (uncounted.length > 0) {
      const names = uncounted.slice(0, MAX_TARGETS).map(({ target }) => String(target));
      return `no calls fail as far as they are counted: those to ${names.join(', ')} are not`;
    }
    if (targets.every(({ rate }) => !(Number(rate) > 0))) return 'no calls now';
    const degraded = targets.filter(({ state }) => state === 'degraded');
    if (degraded.length === 0) return 'no calls fail';
    const names = degraded.slice(0, MAX_TARGETS).map(({ target }) => String(target));
    return `no calls fail: those from ${self} to ${names.join(', ')} go to the remaining healthy endpoints`;
  }
  return [
    ...firstOf(affected, MAX_TARGETS),
    ...(named === '' ? [] : [`${self} is called by ${named}`]),
  ].join('; ');
}

/** @returns `undefined` if no calls fail or wait. */
function describeCalls(row: Partial<Row>): string | undefined {
  const { state } = row;
  const failures = failuresOf(row);
  if (percentFailing(failures) > 0) return describeFailing(failures);
  if (state === 'failing') return 'calls fail';
  return state === 'waiting' ? 'calls wait' : undefined;
}
