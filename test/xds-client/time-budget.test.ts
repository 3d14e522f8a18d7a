import {
  BESIDE_FACTOR,
  BYTES_PER_MS,
  MAX_TIME_DEBT_MS,
  MESSAGE_COST_MS,
  TIME_BURST_MS,
} from '../../src/xds-client/limits';
import { TimeBudget } from '../../src/xds-client/budgets';
import { Harness, RecordingWatcher } from './harness';

/** Takes so much of the budget. */
function spend(budget: TimeBudget, ms: number, nowMs: number): void {
  budget.spend(ms / BESIDE_FACTOR, nowMs);
}

describe('TimeBudget', () => {
  it('counts time for more than it is, for what is done beside', () => {
    const budget = new TimeBudget(0.5, 0);
    spend(budget, TIME_BURST_MS, 0);
    budget.spend(100, 0);
    expect(budget.waitMs(0)).toBeCloseTo(200 * BESIDE_FACTOR);
  });

  it('allows a burst, and then the share of the time that passes', () => {
    const budget = new TimeBudget(0.25, 1000);
    spend(budget, TIME_BURST_MS, 1000);
    expect(budget.waitMs(1000)).toBeCloseTo(0);
    spend(budget, 100, 1000);
    expect(budget.waitMs(1000)).toBeCloseTo(400);
    expect(budget.waitMs(1300)).toBeCloseTo(100);
    expect(budget.waitMs(1401)).toBe(0);
  });

  it('makes up for no more than some seconds of one update', () => {
    const budget = new TimeBudget(0.25, 0);
    budget.spend(1_000_000, 0);
    expect(budget.waitMs(0)).toBe(4 * MAX_TIME_DEBT_MS);
  });

  it('counts each response, and its bytes', () => {
    const budget = new TimeBudget(0.25, 0);
    spend(budget, TIME_BURST_MS, 0);
    budget.receive(100 * BYTES_PER_MS, 0);
    expect(budget.waitMs(0)).toBeCloseTo(4 * (100 + MESSAGE_COST_MS));
  });

  it('is full again after a while, and no fuller', () => {
    const budget = new TimeBudget(0.25, 0);
    spend(budget, TIME_BURST_MS, 0);
    spend(budget, TIME_BURST_MS + 10, 1_000_000);
    expect(budget.waitMs(1_000_000)).toBeCloseTo(40);
  });
});

describe('updates that each take 100 ms to apply', () => {
  /** The time for each of them at a share of a quarter, less that of one step of the clock. */
  const LEAST_MS = 4 * 100 * BESIDE_FACTOR - 10;

  /** Sends updates as fast as they are read. @returns the time each of them was applied. */
  function flap(updates: number, apply = (h: Harness) => h.clock.advance(100), h = new Harness()) {
    const times: number[] = [];
    const watcher = new RecordingWatcher(() => {
      times.push(h.clock.monotonicMs());
      apply(h);
    });
    h.watch(h.endpoints, 'a', watcher);
    for (let i = 0; i < updates; i++) {
      // The server sends it as soon as the client reads it.
      h.send(h.endpoints, `${i}`, { a: `value ${i}` });
      while (times.length === i) h.clock.advance(10);
    }
    return { h, times };
  }

  it('are not delayed while the burst lasts', () => {
    const updates = Math.floor(TIME_BURST_MS / (100 * BESIDE_FACTOR));
    const { times } = flap(updates);
    // Besides two turns of the event loop after each.
    expect(times.at(-1)).toBeLessThanOrEqual((updates - 1) * 102);
  });

  it('take their share of the time after that', () => {
    const { times } = flap(80);
    const [from = 0, to = 0] = [times[39], times[79]];
    expect((to - from) / 40).toBeGreaterThanOrEqual(LEAST_MS);
    expect((to - from) / 40).toBeLessThanOrEqual(LEAST_MS + 30);
  });

  const intervalMs = ({ times }: ReturnType<typeof flap>) =>
    ((times[79] ?? 0) - (times[39] ?? 0)) / 40;

  it('take their share of the time, too, if policies apply them in later turns', () => {
    const apply = (h: Harness) => h.budgets.time.spend(100, h.clock.monotonicMs());
    expect(intervalMs(flap(80, apply))).toBeGreaterThanOrEqual(LEAST_MS);
  });

  it('take their share of the time, too, if it is their acknowledgement that takes long', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'b');
    const { clock, stream } = h;
    const [monotonicMs, send] = [clock.monotonicMs.bind(clock), stream.send.bind(stream)];
    let spentMs = 0;
    clock.monotonicMs = () => monotonicMs() + spentMs;
    stream.send = (bytes) => {
      send(bytes);
      spentMs += 100;
    };
    const turn = () => clock.advance(1);
    expect(intervalMs(flap(80, turn, h))).toBeGreaterThanOrEqual(LEAST_MS);
  });

  it('are acknowledged at once all the same, and new names are requested', () => {
    const { h } = flap(40);
    h.clock.advance(1);
    expect(h.stream.request.versionInfo).toBe('39');
    h.watch(h.endpoints, 'b');
    expect(h.stream.request.resourceNames).toEqual(['a', 'b']);
  });
});

describe('a flood of responses', () => {
  /** Sends responses without a turn of the event loop between them. */
  function flood(h: Harness, responses: number): void {
    for (let i = 0; i < responses; i++) h.send(h.endpoints, `${i}`, { a: 'value' });
  }

  it('is acknowledged once in a turn, by its last response', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    h.budgets.time.spend(TIME_BURST_MS / 2, h.clock.monotonicMs());
    flood(h, 1);
    h.clock.advance(1);
    const { length } = h.stream.requests;
    flood(h, 20);
    expect(h.stream.requests.length).toBeLessThanOrEqual(length + 1);
    h.clock.advance(5000);
    expect(h.stream.requests.length).toBeLessThanOrEqual(length + 2);
    expect(h.stream.request.versionInfo).toBe('19');
  });

  it('is acknowledged response by response while little time was spent', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    const { length } = h.stream.requests;
    flood(h, 20);
    expect(h.stream.requests).toHaveLength(length + 20);
  });
});
