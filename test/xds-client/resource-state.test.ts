import { withoutSince, withSince } from '../../src/util/since';
import {
  failureOf,
  nextResourceState,
  type Accepted,
  type Failure,
  type ResourceEvent,
  type ResourceState,
} from '../../src/xds-client/resource-state';
import type { WatchError } from '../../src/xds-client/resource-watcher';
import {
  nextView,
  notificationsBetween,
  type ResourceView,
} from '../../src/xds-client/watched-resource';

type State = ResourceState<string>;
type View = ResourceView<string>;

/** What happens to a resource at its server, or to all servers. */
type Event =
  | ResourceEvent<string>
  | { readonly kind: 'unreachable'; readonly error: WatchError }
  | { readonly kind: 'reachable' };

const error = (message: string): WatchError => ({ kind: 'invalid', message });
const accepted = (value: string, version = '1'): Accepted<string> => ({
  value,
  version,
  bytes: Buffer.from(value),
  serverKey: 's',
  updatedAtMs: 5,
});
const failure = (status: Failure['status'], message: string = status): Failure => ({
  status,
  error: { ...error(withSince(message, 7)), sinceMs: 7 },
  version: '2',
  atMs: 7,
  sinceMs: 7,
  rejected: undefined,
});
/** The failure of an event, whose text does not say since when. */
const undated = (status: Failure['status'], message: string = status): Failure => ({
  ...failure(status),
  error: error(message),
});

const view = (state: State): View => ({ state, unreachable: undefined });
const valued = (
  value: Accepted<string>,
  rest: { failure?: Failure; deletionIgnored?: boolean } = {},
): View =>
  view({ kind: 'accepted', accepted: value, failure: undefined, deletionIgnored: false, ...rest });
const failed = (status: Failure['status'], message: string = status): View =>
  view({ kind: 'failed', failure: failure(status, message) });

const requested = view({ kind: 'requested', sinceMs: 1 });
const cutOff: View = { ...requested, unreachable: error('down') };
const absent = failed('DOES_NOT_EXIST');
const late = failed('TIMEOUT');
const rejected = failed('NACKED');
const cached = valued(accepted('v'));
const cachedAndRejected = valued(accepted('v'), { failure: failure('NACKED') });
const cachedAndCutOff: View = { ...cached, unreachable: error('down') };
const cachedAndBoth: View = { ...cachedAndRejected, unreachable: error('down') };
const keptOn = valued(accepted('v'), { deletionIgnored: true });

const sent = (value: string): Event => ({ kind: 'accepted', accepted: accepted(value, '2') });
const nack = (dropValue: boolean, message = 'NACKED'): ResourceEvent<string> => ({
  kind: 'failed',
  failure: undated('NACKED', message),
  dropValue,
});
const deleted = (handling: 'drop' | 'ignore' | 'report', isExplicit = false): Event => ({
  kind: 'deleted',
  failure: undated('DOES_NOT_EXIST'),
  handling,
  isExplicit,
});
const timedOut: Event = { kind: 'timed-out', failure: undated('DOES_NOT_EXIST') };
const unreachable = (message = 'down'): Event => ({ kind: 'unreachable', error: error(message) });
const reachable: Event = { kind: 'reachable' };

function after({ state, unreachable: known }: View, event: Event): View {
  const before: View = { state, unreachable: known };
  if (event.kind === 'unreachable') return nextView(before, state, event.error);
  if (event.kind === 'reachable') return nextView(before, state, undefined);
  const error = event.kind === 'accepted' ? undefined : known;
  return nextView(before, nextResourceState(state, event), error);
}

/** What watchers are told, in short. */
function told(before: View, event?: Event): string[] {
  const notifications =
    event === undefined
      ? notificationsBetween(undefined, before)
      : notificationsBetween(before, after(before, event));
  return notifications.map((notification) => {
    if (notification.kind === 'ambient') {
      return withoutSince(`ambient ${notification.error?.message ?? 'over'}`);
    }
    const { update } = notification;
    return withoutSince(update.ok ? `value ${update.value}` : `error ${update.error.message}`);
  });
}

const now = (value: string): View => valued(accepted(value, '2'));

describe('a resource as its target sees it', () => {
  it.each<[string, View, string, Event, View, string[]]>([
    ['requested', requested, 'sent', sent('v'), now('v'), ['value v']],
    ['requested', requested, 'rejected', nack(false), rejected, ['error NACKED']],
    ['requested', requested, 'rejected, dropping', nack(true), rejected, ['error NACKED']],
    ['requested', requested, 'left out', deleted('drop'), requested, []],
    ['requested', requested, 'left out, reporting', deleted('report'), requested, []],
    ['requested', requested, 'denied', deleted('ignore', true), absent, ['error DOES_NOT_EXIST']],
    ['requested', requested, 'timed out', timedOut, absent, ['error DOES_NOT_EXIST']],
    ['requested', requested, 'unreachable', unreachable(), cutOff, ['error down']],
    ['requested', requested, 'reachable', reachable, requested, []],

    ['cut off', cutOff, 'unreachable as before', unreachable(), cutOff, []],
    [
      'cut off',
      cutOff,
      'unreachable otherwise',
      unreachable('gone'),
      { ...requested, unreachable: error('gone') },
      ['error gone'],
    ],
    ['cut off', cutOff, 'reachable', reachable, requested, []],
    ['cut off', cutOff, 'sent', sent('v'), now('v'), ['value v']],

    ['absent', absent, 'sent', sent('v'), now('v'), ['value v']],
    ['absent', absent, 'left out', deleted('drop'), absent, []],
    ['absent', absent, 'timed out again', timedOut, absent, []],
    ['absent', absent, 'rejected', nack(false), rejected, ['error NACKED']],
    ['absent', absent, 'unreachable', unreachable(), absent, []],
    ['absent', absent, 'reachable', reachable, absent, []],
    ['late', late, 'left out', deleted('drop'), late, []],
    ['late', late, 'denied', deleted('drop', true), absent, ['error DOES_NOT_EXIST']],
    ['absent', absent, 'denied', deleted('drop', true), absent, []],

    ['rejected', rejected, 'rejected alike', nack(false), rejected, []],
    [
      'rejected',
      rejected,
      'rejected otherwise',
      nack(false, 'x'),
      failed('NACKED', 'x'),
      ['error x'],
    ],
    ['rejected', rejected, 'left out', deleted('drop'), absent, ['error DOES_NOT_EXIST']],
    ['rejected', rejected, 'timed out', timedOut, absent, ['error DOES_NOT_EXIST']],
    ['rejected', rejected, 'unreachable', unreachable(), rejected, []],

    ['cached', cached, 'sent unchanged', sent('v'), now('v'), []],
    ['cached', cached, 'sent changed', sent('w'), now('w'), ['value w']],
    ['cached', cached, 'rejected', nack(false), cachedAndRejected, ['ambient NACKED']],
    ['cached', cached, 'rejected, dropping', nack(true), rejected, ['error NACKED']],
    ['cached', cached, 'left out', deleted('drop'), absent, ['error DOES_NOT_EXIST']],
    ['cached', cached, 'left out, ignoring', deleted('ignore'), keptOn, []],
    ['cached', cached, 'denied, ignoring', deleted('ignore', true), keptOn, []],
    [
      'cached',
      cached,
      'left out, reporting',
      deleted('report'),
      valued(accepted('v'), { failure: failure('DOES_NOT_EXIST') }),
      ['ambient DOES_NOT_EXIST'],
    ],
    ['cached', cached, 'timed out', timedOut, cached, []],
    ['cached', cached, 'unreachable', unreachable(), cachedAndCutOff, ['ambient down']],
    ['cached', cached, 'reachable', reachable, cached, []],

    [
      'cached, rejected',
      cachedAndRejected,
      'sent unchanged',
      sent('v'),
      now('v'),
      ['ambient over'],
    ],
    ['cached, rejected', cachedAndRejected, 'sent changed', sent('w'), now('w'), ['value w']],
    ['cached, rejected', cachedAndRejected, 'rejected alike', nack(false), cachedAndRejected, []],
    [
      'cached, rejected',
      cachedAndRejected,
      'unreachable',
      unreachable(),
      cachedAndBoth,
      ['ambient down'],
    ],
    ['cached, both', cachedAndBoth, 'reachable', reachable, cachedAndRejected, ['ambient NACKED']],
    ['cached, both', cachedAndBoth, 'sent unchanged', sent('v'), now('v'), ['ambient over']],
    ['cached, cut off', cachedAndCutOff, 'reachable', reachable, cached, ['ambient over']],
    ['cached, cut off', cachedAndCutOff, 'rejected', nack(false), cachedAndBoth, []],
    ['kept on', keptOn, 'sent unchanged', sent('v'), now('v'), []],
  ])('%s (%#) and %s', (...row) => {
    const [, before, , event, expected, notifications] = row;
    expect(after(before, event)).toEqual(expected);
    expect(told(before, event)).toEqual(notifications);
  });
});

describe('a new watcher', () => {
  it.each<[string, View, string[]]>([
    ['requested', requested, []],
    ['cut off', cutOff, ['error down']],
    ['absent', absent, ['error DOES_NOT_EXIST']],
    ['rejected', rejected, ['error NACKED']],
    ['cached', cached, ['value v']],
    ['cached and rejected', cachedAndRejected, ['value v', 'ambient NACKED']],
    ['cached and both', cachedAndBoth, ['value v', 'ambient down']],
    ['kept on', keptOn, ['value v']],
  ])('is notified of a resource that is %s', (_name, before, notifications) => {
    expect(told(before)).toEqual(notifications);
  });
});

describe('the state at a server', () => {
  it('is the same object when a value is sent again, so that every target has the same view', () => {
    const value = accepted('v');
    const state: State = valued(value).state;
    expect(nextResourceState(state, { kind: 'accepted', accepted: value })).toBe(state);
  });

  it('is a new one when a value is sent again that was removed or rejected meanwhile', () => {
    const value = accepted('v');
    for (const rest of [{ deletionIgnored: true }, { failure: failure('NACKED') }]) {
      const next = nextResourceState(valued(value, rest).state, {
        kind: 'accepted',
        accepted: value,
      });
      expect(next).toEqual(valued(value).state);
    }
  });
});

describe('a failure', () => {
  const at = (status: Failure['status'], sinceMs: number): Failure => ({
    ...failure(status),
    error: error(status),
    atMs: sinceMs,
    sinceMs,
  });
  const fail = (before: State, status: Failure['status'], nowMs: number): State =>
    nextResourceState(before, { kind: 'failed', failure: at(status, nowMs), dropValue: false });

  it.each([
    ['a resource that was requested', requested.state],
    ['a value that stays in use', cached.state],
  ])('of %s lasts since the first one, whichever others follow', (_, before) => {
    const first = fail(before, 'NACKED', 1000);
    const second = fail(first, 'RECEIVED_ERROR', 5000);
    for (const state of [first, second]) {
      expect(failureOf(state)?.sinceMs).toBe(1000);
      expect(failureOf(state)?.error.message).toMatch(
        / \(failing since 1970-01-01T00:00:01.000Z\)$/,
      );
    }
    expect(failureOf(second)?.atMs).toBe(5000);
  });

  it('that follows an accepted version begins anew', () => {
    const state = nextResourceState(fail(cached.state, 'NACKED', 1000), {
      kind: 'accepted',
      accepted: accepted('w'),
    });
    expect(failureOf(fail(state, 'NACKED', 9000))?.sinceMs).toBe(9000);
  });
});
