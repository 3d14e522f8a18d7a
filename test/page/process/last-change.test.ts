import type { ProcessEvent } from '../../../packages/page/src/process/events';
import type { Trouble } from '../../../packages/page/src/process/faults';
import {
  addTrends,
  changeCells,
  findLastChange,
  latestOf,
  type Trends,
} from '../../../packages/page/src/process/last-change';
import type { ResourceChange } from '../../../src/xds-client/client-snapshot';

const TARGET = 'xds:///web';
const CHANGED_MS = 120_000;

const event = (kind: string, change: Partial<ProcessEvent> = {}): ProcessEvent => ({
  atMs: CHANGED_MS,
  kind,
  subject: 'web',
  text: '',
  target: TARGET,
  ...change,
});

const changeOf = (changes: readonly ResourceChange[], ...events: readonly ProcessEvent[]) =>
  findLastChange(changes, events, TARGET);

const resourceChange: ResourceChange = {
  atMs: CHANGED_MS,
  typeUrl: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  name: 'web',
  serverUri: 'cp:443',
  kind: 'accepted',
  version: '7',
  text: 'endpoints: 2 removed',
  before: undefined,
  rejected: undefined,
};

describe('the last change of a target', () => {
  const failing = (ms: number) => ({ where: 'eu/a', text: '', since: new Date(ms).toISOString() });
  it.each([
    ['long after another change', [failing(CHANGED_MS + 10_000)], 'calls began to fail: eu/a'],
    [
      'soon after it, which it is what came of',
      [failing(CHANGED_MS + 9_999)],
      'cluster failed: web',
    ],
    ['before it', [failing(CHANGED_MS - 60_000)], 'cluster failed: web'],
    [
      'in two places, the earlier of which counts',
      [failing(CHANGED_MS + 30_000), failing(CHANGED_MS)],
      'cluster failed: web',
    ],
  ] as const)('is that calls begin to fail %s', (_case, calls, expected) => {
    const events = [event('cluster-failed')];
    expect(findLastChange([], events, TARGET, { calls })?.text).toBe(expected);
    expect(findLastChange([], [], TARGET, { calls })?.text).toBe('calls began to fail: eu/a');
  });

  it.each([
    [
      'an endpoint that is ejected',
      event('endpoint-ejected', { text: 'why' }),
      'endpoint ejected: web: why',
    ],
    [
      'an address that is lost',
      event('serving-state', { subject: ':80', text: 'gone' }),
      'no longer served: :80',
    ],
    [
      'an address that is back',
      event('serving-state', { subject: ':80', text: 'SERVING' }),
      'served: :80',
    ],
    [
      'a cluster that fails, whose fault says why',
      event('cluster-failed', { text: 'why' }),
      'cluster failed: web',
    ],
  ])('is %s', (_case, last, text) => {
    expect(changeOf([], last)?.text).toBe(text);
  });

  it('is what has changed of a resource, if that is later', () => {
    const last = { ...resourceChange, atMs: CHANGED_MS + 1 };
    expect(changeOf([last], event('endpoint-ejected'))).toEqual({
      atMs: CHANGED_MS + 1,
      text: 'accepted Cluster web: version 7: endpoints: 2 removed',
      lost: [],
    });
    expect(changeOf([{ ...last, kind: 'rejected' }])?.text).toBe('rejected Cluster web');
  });

  it('is neither a notice nor an event of another target', () => {
    expect(changeOf([], event('notice'), event('cluster-failed', { target: 'xds:///b' }))).toBe(
      undefined,
    );
  });

  it('names all addresses that were lost together, with the time of the first', () => {
    const lost = (subject: string, atMs: number) =>
      event('serving-state', { subject, atMs, text: 'gone', target: undefined });
    const events = [lost(':79', 0), lost(':80', CHANGED_MS), lost(':81', CHANGED_MS + 50)];
    expect(changeOf([], ...events)).toMatchObject({
      atMs: CHANGED_MS,
      text: 'no longer served: :80, :81',
    });
  });

  it('is the latest of several targets', () => {
    const [early, late] = [1, 2].map((atMs) => ({ atMs, text: '', lost: [] }));
    expect(latestOf([early, late].flatMap((each) => each ?? []))).toBe(late);
    expect(latestOf([])).toBe(undefined);
  });
});

describe('the cells of the last change', () => {
  const trouble: Trouble = {
    cluster: 'web',
    locality: 'eu/a',
    failing: 8,
    of: 8,
    cause: 'connect ECONNREFUSED',
    since: '1970-01-01T00:01:59.000Z',
  };
  /** 30 slots of ten seconds, of which the last ended at 150 s: from 120 s on, the calls fail and are slow. */
  const trends: Trends = {
    trend: [...Array<number>(27).fill(120), 80, 80, 80],
    errorTrend: [...Array<number>(27).fill(0), 26, 26, 26],
    latencyTrend: [...Array<number>(26).fill(12), 500, 480, 480, 480],
    trendEndMs: 150_000,
  };
  const lost = { atMs: CHANGED_MS, text: 'cluster failed: web', lost: ['web'] };

  it('say where endpoints were lost, and how the calls went in the minute before', () => {
    expect(changeCells(lost, [trouble], trends)).toEqual({
      changed: 'eu/a (web): 0 of 8 endpoints can be used',
      changedAt: trouble.since,
      rateBefore: 120,
      failingBefore: 0,
      p99Before: 12,
    });
  });

  it('are those of the change itself after the endpoints connect again', () => {
    expect(changeCells(lost, [], trends)).toMatchObject({
      changed: lost.text,
      changedAt: '1970-01-01T00:02:00.000Z',
    });
  });

  it.each([
    ['a part of the minute', 25_000, { rateBefore: 5 }],
    ['nothing of it', 9000, {}],
    ['nothing of it, since counting began later', -600_000, {}],
  ])('compare with %s', (_case, atMs, expected) => {
    const young = { trend: [3, 7], errorTrend: [], latencyTrend: [0, 0], trendEndMs: 20_000 };
    const { changed, changedAt, ...before } = changeCells({ ...lost, atMs }, [], young);
    expect([changed, typeof changedAt]).toEqual([lost.text, 'string']);
    expect(before).toMatchObject(expected);
    expect('rateBefore' in before).toBe('rateBefore' in expected);
  });

  it('are none without a change', () => {
    expect(changeCells(undefined, [trouble], trends)).toEqual({});
  });
});

describe('the calls of several targets', () => {
  it('are added up by their times, with the highest latency', () => {
    const of = (trend: readonly number[], latencyTrend: readonly number[]): Trends => {
      return { trend, errorTrend: [], latencyTrend, trendEndMs: 7 };
    };
    expect(addTrends([of([1, 2, 3], [9, 9]), of([10], [5, 20])])).toEqual({
      trend: [1, 2, 13],
      errorTrend: [],
      latencyTrend: [9, 20],
      trendEndMs: 7,
    });
    expect(addTrends([])).toBe(undefined);
  });
});
