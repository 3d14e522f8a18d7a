// Texts that the graph, the page and its scripts have in common.

/** How something differs from before. */
export type Change = 'added' | 'removed' | 'changed';

/** Something that differs, in words. */
export interface ChangedText {
  /** Absent for a note about the others. */
  readonly change?: Change | undefined;
  readonly text: string;
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

/** Puts the sign of a change in front of a text, as `diff` has them. */
export function signed(change: Change | undefined, text: string): string {
  return change === undefined ? text : `${SIGNS[change]} ${text}`.trimEnd();
}

/** Writes a share of 0 to 1. */
export function percent(share: number, digits = 2): string {
  return `${Number((100 * share).toFixed(digits))} %`;
}

/** Writes how many there are of something, such as `1 client`. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** Returns the first of some texts, and how many more there are. */
export function firstOf(texts: readonly string[], most: number): readonly string[] {
  const more = texts.length - most;
  return more > 0 ? [...texts.slice(0, most), `and ${more} more`] : texts;
}

/** How many calls there are in a second, and how many of them fail. */
interface FailureRates {
  readonly rate?: number | undefined;
  readonly errorRate?: number | undefined;
}

/** Returns the share of calls that fail, 0 to 1. A call may fail long after it started, so failures may outnumber starts. */
function shareFailing({ rate = 0, errorRate = 0 }: FailureRates): number {
  if (errorRate <= 0) return 0;
  return errorRate >= rate ? 1 : errorRate / rate;
}

/** Returns the percentage of calls that fail, rounded up; 100 only if all of them fail. */
export function percentFailing(rates: FailureRates): number {
  const share = shareFailing(rates);
  return share < 1 ? Math.min(99, Math.ceil(100 * share)) : 100;
}

/**
 * The flaws of something whose connections are ready but whose calls fail. As in Kiali, 10 % is many. Clusters, localities and endpoints
 * count attempts: if a failed attempt is retried, the call may still succeed.
 */
const CALL_FLAWS = {
  calls: { many: 'calls failing', few: 'some calls failing' },
  attempts: { many: 'attempts failing', few: 'some attempts failing' },
} as const;
const MANY = 0.1;

/** The same flaws by how many calls fail, the worst first. */
const MANY_FAIL: readonly string[] = [CALL_FLAWS.calls.many, CALL_FLAWS.attempts.many];
const FEW_FAIL: readonly string[] = [CALL_FLAWS.calls.few, CALL_FLAWS.attempts.few];

/** The flaw of a target whose failed attempts were all retried. */
export const RETRIED = CALL_FLAWS.attempts.few;

/** Returns what is wrong with calls or attempts; `undefined` if none fails. */
export function flawOfCalls({
  counts = 'calls',
  ...rates
}: FailureRates & { readonly counts?: 'calls' | 'attempts' | undefined }): string | undefined {
  const share = shareFailing(rates);
  if (share === 0) return undefined;
  return share >= MANY ? CALL_FLAWS[counts].many : CALL_FLAWS[counts].few;
}

/** Whether many calls fail, or a few; `undefined` for another flaw, and for none. */
export function failuresIn(flaw: string | undefined): 'many' | 'few' | undefined {
  if (flaw === undefined) return undefined;
  if (MANY_FAIL.includes(flaw)) return 'many';
  return FEW_FAIL.includes(flaw) ? 'few' : undefined;
}

/** Describes a state with its flaw. Failing calls come first and replace `ready`. */
export function describeState(state: string, flaw: string | undefined): string {
  if (flaw === undefined) return state;
  if (failuresIn(flaw) === undefined) return `${state}, ${flaw}`;
  if (state === 'failing') return state;
  return state === 'ready' ? flaw : `${flaw}, ${state}`;
}

/** Returns the worst flaw; `undefined` if there is none. */
export function worstFlaw(flaws: readonly (string | undefined)[]): string | undefined {
  const isThere = (flaw: string) => flaws.includes(flaw);
  return [...MANY_FAIL, ...FEW_FAIL].find(isThere) ?? flaws.find((flaw) => flaw !== undefined);
}

/** Joins the first of some texts: `a, b and 3 more`. */
export function joinFirst(texts: readonly string[], most: number): string {
  const shown = texts.slice(0, most).join(', ');
  return texts.length > most ? `${shown} and ${texts.length - most} more` : shown;
}

/**
 * Formats a rate or a latency with two digits, or three from 100 on.
 *
 * @public The scripts of the page import it.
 */
export function number(value: number): string {
  return `${Number(value.toPrecision(value < 100 ? 2 : 3))}`;
}

/** Says what part of the calls a weight gives to a way, and what it got: `asked 25 %, got 24.6 % (246 of 1000 calls)`. */
export function describeGot(
  asked: number,
  { got, calls, of }: { readonly got: number; readonly calls: number; readonly of: number },
  noun = '',
): string {
  const counts = `${calls} of ${of} ${noun}`.trimEnd();
  return `asked ${percent(asked, 1)}, got ${percent(got, 1)} (${counts})`;
}
