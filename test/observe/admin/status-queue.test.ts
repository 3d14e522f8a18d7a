import {
  MAX_UNREAD_MS,
  MAX_WAIT_MS,
  StatusQueue,
  type ObservedClient,
} from '../../../src/observe/admin/status-queue';
import { ClientStatusResponse } from '../../../src/wire/generated/envoy/service/status/v3/csds';
import type { Handle } from '../../../src/util/handle';
import { FakeClock } from '../../support/fake-clock';
import { observedClient } from '../../support/observed-client';

const ALL = { excludeContents: false };

/** A status stream whose reader can be slow: it reads only in `leave()`. */
class Caller {
  readonly refusals: string[] = [];
  response: Buffer | undefined;
  wasCutOff = false;
  private readonly request: Handle;

  constructor(queue: StatusQueue, options = ALL) {
    this.request = queue.request(options, {
      onResponse: (response) => (this.response = response),
      onRefused: (details) => this.refusals.push(details),
      onUnread: () => {
        this.wasCutOff = true;
        this.leave();
      },
    });
  }

  /** Has read its response, or is gone. */
  leave(): void {
    this.request.release();
  }

  get node(): string | undefined {
    const { response } = this;
    return response && ClientStatusResponse.decode(response).config[0]?.node?.id;
  }
}

function queueOf(clients: readonly ObservedClient[]) {
  const clock = new FakeClock();
  const observe = jest.fn(() => clients);
  const queue = new StatusQueue(observe, clock);
  const callers = (count: number, options = ALL) =>
    Array.from({ length: count }, () => new Caller(queue, options));
  const answered = (all: readonly Caller[]) =>
    all.filter(({ response }) => response !== undefined).length;
  return { clock, observe, queue, callers, answered };
}

/** Has each look at the clock take 3 ms, and so each step of encoding. */
function takeTime(clock: FakeClock): void {
  const monotonicMs = clock.monotonicMs.bind(clock);
  let workedMs = 0;
  jest.spyOn(clock, 'monotonicMs').mockImplementation(() => monotonicMs() + (workedMs += 3));
}

describe('the queue of CSDS requests', () => {
  it('encodes once for eight callers of one turn, who share the bytes', () => {
    const { clock, observe, callers } = queueOf([observedClient('a', 300)]);
    const all = callers(8);
    for (const caller of all) {
      clock.advance(1);
      caller.leave();
    }
    expect(observe).toHaveBeenCalledTimes(1);
    expect(all[0]?.response).toBeDefined();
    expect(new Set(all.map(({ response }) => response)).size).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('sends a response to one caller at a time', () => {
    const { clock, callers, answered } = queueOf([observedClient('a', 300)]);
    const all = callers(3);
    clock.advance(1);
    expect(answered(all)).toBe(1);
    clock.advance(1000);
    expect(answered(all)).toBe(1);
    all[0]?.leave();
    expect(answered(all)).toBe(2);
    all[1]?.leave();
    expect(answered(all)).toBe(3);
  });

  // 1. A response is encoded for a caller, and sent. 2. Another caller requests one meanwhile. 3. The first has read it.
  it('encodes what the clients know after the request arrived', () => {
    const { clock, observe, queue } = queueOf([observedClient('old', 300)]);
    const first = new Caller(queue);
    clock.advance(1);
    observe.mockReturnValue([observedClient('new', 300)]);
    const second = new Caller(queue);
    clock.advance(1);
    expect(observe).toHaveBeenCalledTimes(1);
    first.leave();
    clock.advance(1);
    expect([first.node, second.node]).toEqual(['old', 'new']);
  });

  it('does not share a response between requests with and without contents', () => {
    const { clock, observe, queue } = queueOf([observedClient('a', 300)]);
    const all = [ALL, { excludeContents: true }, ALL].map((options) => new Caller(queue, options));
    for (let i = 0; i < 3; i++) {
      clock.advance(1);
      for (const caller of all) if (caller.response !== undefined) caller.leave();
    }
    const [first, without, last] = all.map(({ response }) => response);
    expect(observe).toHaveBeenCalledTimes(2);
    expect(last).toBe(first);
    expect(without?.length).toBeLessThan(first?.length ?? 0);
  });

  it('gives other work a turn after each part of a large response', () => {
    const { clock, callers, answered } = queueOf([observedClient('a', 640)]);
    takeTime(clock);
    const all = callers(1);
    let turns = 0;
    for (; answered(all) === 0; turns++) clock.advance(1);
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  it('lets a slow caller read for as long as no other one waits', () => {
    const { clock, queue } = queueOf([observedClient('a', 1)]);
    const slow = new Caller(queue);
    clock.advance(10 * MAX_UNREAD_MS);
    expect(slow.wasCutOff).toBe(false);
    const other = new Caller(queue);
    expect(slow.wasCutOff).toBe(true);
    clock.advance(1);
    expect(other.response).toBeDefined();
  });

  // A caller that reads slowly, but each time before it is cut off, is followed by others of its kind.
  it('refuses a request that has waited for too long', () => {
    const { clock, callers } = queueOf([observedClient('a', 1)]);
    const all = callers(10);
    for (const caller of all) {
      clock.advance(MAX_UNREAD_MS - 1);
      caller.leave();
    }
    clock.advance(MAX_WAIT_MS);
    const refused = all.filter(({ refusals }) => refusals.length > 0);
    expect(refused.length).toBeGreaterThan(0);
    for (const { refusals, response } of refused) {
      expect(refusals).toEqual(['not answered within 60s: other callers are served first']);
      expect(response).toBeUndefined();
    }
    expect(clock.pendingTimers).toBe(0);
  });

  it('stops encoding when the last request is gone, and serves the next one', () => {
    const { clock, callers, queue, observe, answered } = queueOf([observedClient('a', 1000)]);
    takeTime(clock);
    const gone = callers(2);
    clock.advance(1);
    expect([observe.mock.calls.length, answered(gone)]).toEqual([1, 0]);
    for (const caller of gone) caller.leave();
    expect(clock.pendingTimers).toBe(0);
    const next = new Caller(queue);
    clock.advance(1000);
    expect(next.response).toBeDefined();
    expect(observe).toHaveBeenCalledTimes(2);
  });
});
