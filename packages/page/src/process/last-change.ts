import type { ClientSnapshot, ResourceChange } from 'grpc-xds/internal';
import { toIso } from '../../../../src/util/since';
import { joinFirst, percentFailing } from '../graph/words';
import { cellText, type Row } from '../live-page/view';
import type { CallFault } from './call-faults';
import type { ProcessEvent } from './events';
import { describeLoss, type Trouble } from './faults';
import { describeChange } from './history';

/** Events that are changes; those of resources are in the history of the client. */
const CHANGES = /^(fallback|serving-state|(endpoint|endpoints|cluster)-.*)$/;
/** Events within this time are one change: a zone is lost cluster by cluster, a Listener with all of its addresses. */
const TOGETHER_MS = 10_000;
/** What is named of one change. */
const MAX_NAMED = 3;

/** The time of one value of a trend. */
export const SLOT_MS = 10_000;
/** The values before a change that are compared with now: a minute. */
const COMPARED_SLOTS = 6;

/** What has changed last. */
export interface Change {
  readonly atMs: number;
  readonly text: string;
  /** The clusters whose endpoints have failed; empty for another change. */
  readonly lost: readonly string[];
}

/** The calls of the last minutes: for each ten seconds, the oldest first. */
export interface Trends {
  /** Started in a second, failed in a second, and the 99th percentile in milliseconds, 0 without any. */
  readonly trend: readonly number[];
  readonly errorTrend: readonly number[];
  readonly latencyTrend: readonly number[];
  /** When the last ten seconds ended. */
  readonly trendEndMs: number;
}

/**
 * Finds the last change of a target, of a resource, of what is connected or of whether calls fail; `undefined` if there was none.
 *
 * @param options `calls`: the calls that fail now; `describeFields` lists the fields that an update changed. Default: none.
 */
export function findLastChange(
  changes: ClientSnapshot['changes'],
  events: readonly ProcessEvent[],
  scope: string,
  {
    calls = [],
    describeFields = () => '',
  }: {
    readonly calls?: readonly CallFault[];
    readonly describeFields?: (change: ResourceChange) => string;
  } = {},
): Change | undefined {
  const last = findChange(changes, events, scope, describeFields);
  const [first] = calls
    .flatMap(({ since, where }) => (since === undefined ? [] : { atMs: Date.parse(since), where }))
    .sort((a, b) => a.atMs - b.atMs);
  // Failures soon after a change are its effect.
  if (first === undefined || first.atMs - (last?.atMs ?? 0) < TOGETHER_MS) return last;
  return { atMs: first.atMs, text: `calls began to fail: ${first.where}`, lost: [] };
}

function findChange(
  changes: ClientSnapshot['changes'],
  events: readonly ProcessEvent[],
  scope: string,
  describeFields: (change: ResourceChange) => string,
): Change | undefined {
  const change = changes.at(-1);
  const own = events.filter(
    ({ kind, target }) => CHANGES.test(kind) && (target === undefined || target === scope),
  );
  const last = own.at(-1);
  if (last !== undefined && last.atMs >= (change?.atMs ?? 0)) return joinEvents(last, own);
  if (change === undefined) return undefined;
  const { atMs, kind, subject, text } = describeChange(change);
  // A decoder's own summary is better than a list of fields, and a list of fields is better than a version.
  const fields = kind === 'accepted' && change.text === '' ? describeFields(change) : '';
  const shown = fields || text;
  // Why it was rejected is among the faults.
  const details = kind === 'rejected' || shown === '' ? '' : `: ${shown}`;
  return { atMs, text: `${kind} ${subject}${details}`, lost: [] };
}

function joinEvents(last: ProcessEvent, all: readonly ProcessEvent[]): Change {
  const { kind, text, atMs } = last;
  const alike = all.filter((each) => each.kind === kind && atMs - each.atMs < TOGETHER_MS);
  const subjects = [...new Set(alike.map(({ subject }) => subject))];
  const named = joinFirst(subjects, MAX_NAMED);
  const lost = kind === 'endpoints-failed' || kind === 'cluster-failed' ? subjects : [];
  const first = { atMs: alike[0]?.atMs ?? atMs, lost };
  if (kind === 'serving-state') {
    return { ...first, text: `${text === 'SERVING' ? 'served' : 'no longer served'}: ${named}` };
  }
  const details = lost.length > 0 || text === '' ? '' : `: ${text}`;
  return { ...first, text: `${kind.replaceAll('-', ' ')}: ${named}${details}` };
}

/**
 * The cells with a change, and the calls before it to compare with those of now.
 *
 * @param trouble Where endpoints fail now.
 * @param trends Undefined if the calls are not counted.
 */
export function changeCells(
  change: Change | undefined,
  trouble: readonly Trouble[],
  trends: Trends | undefined,
): Omit<Row, 'id'> {
  if (change === undefined) return {};
  const loss = describeLoss(change.lost, trouble);
  const { text } = loss ?? change;
  const since = loss?.since ?? toIso(change.atMs);
  return {
    changed: cellText(text),
    changedAt: since,
    ...(trends && callsBefore(trends, Date.parse(since))),
  };
}

/** Returns the latest of some changes; `undefined` for none. */
export function latestOf(changes: Iterable<Change>): Change | undefined {
  return [...changes].sort((a, b) => b.atMs - a.atMs)[0];
}

/** Adds up what several targets have; of latencies, it has the highest. */
export function addTrends(all: readonly Trends[]): Trends | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  const join = (
    name: 'trend' | 'errorTrend' | 'latencyTrend',
    add: (a: number, b: number) => number,
  ) => all.map((each) => each[name]).reduce((a, b) => zipEnds(a, b, add));
  const sum = (a: number, b: number) => a + b;
  return {
    trend: join('trend', sum),
    errorTrend: join('errorTrend', sum),
    latencyTrend: join('latencyTrend', Math.max),
    trendEndMs: first.trendEndMs,
  };
}

/** Joins two lists whose last values are of the same time. */
function zipEnds(
  a: readonly number[],
  b: readonly number[],
  add: (a: number, b: number) => number,
): readonly number[] {
  const [long, short] = a.length < b.length ? [b, a] : [a, b];
  const start = long.length - short.length;
  return long.map((value, index) => add(value, short[index - start] ?? 0));
}

/** The calls of the minute before a time, or of as much of it as was counted; nothing if none of it was. */
function callsBefore(
  { trend, errorTrend, latencyTrend, trendEndMs }: Trends,
  atMs: number,
): object {
  const after = Math.max(0, Math.ceil((trendEndMs - atMs) / SLOT_MS));
  const before = (values: readonly number[]) =>
    values.slice(0, Math.max(0, values.length - after)).slice(-COMPARED_SLOTS);
  const started = before(trend);
  if (started.length === 0) return {};
  const perSecond = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / started.length;
  const rate = perSecond(started);
  const latencies = before(latencyTrend).filter((value) => value > 0);
  latencies.sort((a, b) => a - b);
  return {
    rateBefore: rate,
    failingBefore: percentFailing({ rate, errorRate: perSecond(before(errorTrend)) }),
    p99Before: latencies[Math.floor(latencies.length / 2)],
  };
}
