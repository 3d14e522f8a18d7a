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

/** Returns how many of 100 calls fail, rounded up; 0 without calls. */
export function percentFailing({
  rate = 0,
  errorRate = 0,
}: {
  readonly rate?: number | undefined;
  readonly errorRate?: number | undefined;
}): number {
  return rate > 0 && errorRate > 0 ? Math.min(100, Math.ceil((100 * errorRate) / rate)) : 0;
}

/** What is wrong where connections are ready but calls fail: many of them, or a few. As in Kiali, a tenth is many. */
export const CALLS_FAIL = { many: 'calls failing', few: 'some calls failing' } as const;
const MANY_PERCENT = 10;

/** Returns what is wrong with calls; `undefined` if none fails. */
export function flawOfCalls(rates: Parameters<typeof percentFailing>[0]): string | undefined {
  const percentage = percentFailing(rates);
  if (percentage === 0) return undefined;
  return percentage >= MANY_PERCENT ? CALLS_FAIL.many : CALLS_FAIL.few;
}

/** Names a state with what is wrong besides: calls that fail come first, and say more than that their connections are ready. */
export function describeState(state: string, flaw: string | undefined): string {
  if (flaw === undefined) return state;
  if (flaw !== CALLS_FAIL.many && flaw !== CALLS_FAIL.few) return `${state}, ${flaw}`;
  if (state === 'failing') return state;
  return state === 'ready' ? flaw : `${flaw}, ${state}`;
}

/** Returns the worst of some; `undefined` for none. */
export function worstFlaw(flaws: readonly (string | undefined)[]): string | undefined {
  const isThere = (flaw: string) => flaws.includes(flaw);
  return Object.values(CALLS_FAIL).find(isThere) ?? flaws.find((flaw) => flaw !== undefined);
}

/** Joins the first of some texts: `a, b and 3 more`. */
export function joinFirst(texts: readonly string[], most: number): string {
  const shown = texts.slice(0, most).join(', ');
  return texts.length > most ? `${shown} and ${texts.length - most} more` : shown;
}

/**
 * Writes a rate or a latency: two digits say enough, and no whole number is rounded below a thousand.
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
