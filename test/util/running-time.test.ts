import { systemClock } from '../../src/util/clock';
import { createHandle } from '../../src/util/handle';
import { afterRunning } from '../../src/util/running-time';
import { FakeClock } from '../support/fake-clock';
import { SlowClock } from '../support/slow-clock';

/** Its next turn comes when a test has it come. */
class TurnClock extends SlowClock {
  readonly turns = new Set<() => void>();

  nextTurn(callback: () => void) {
    this.turns.add(callback);
    return createHandle(() => this.turns.delete(callback));
  }
}

describe('a time in which the process runs', () => {
  it('passes as time does, and ends after the I/O that is due', () => {
    const clock = new TurnClock();
    let calls = 0;
    afterRunning(clock, () => calls++, 800);
    clock.advance(799);
    expect(clock.turns.size).toBe(0);
    clock.advance(1);
    expect(calls).toBe(0);
    for (const turn of clock.turns) turn();
    expect(calls).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends where the sum of its parts is rounded', () => {
    const clock = new FakeClock();
    let [ended, timers] = [0, 0];
    const counting = {
      monotonicMs: () => clock.monotonicMs(),
      setTimer: (callback: () => void, ms: number) => {
        if (++timers > 20_000) throw new Error('a timer does not move the clock');
        return clock.setTimer(callback, ms);
      },
    };
    for (let i = 0; i < 1000; i++) {
      clock.advance(1e5 / 3 + i / 7);
      afterRunning(counting, () => ended++, 1000 / 3 + i / 11);
      clock.advance(1000);
    }
    expect(ended).toBe(1000);
  });

  it('is shortened by an eighth at most while the event loop is blocked', () => {
    const clock = new TurnClock();
    afterRunning(clock, () => undefined, 800);
    clock.spentMs = 1_000_000;
    // Of the timer that is due, and so is the time as a whole.
    clock.advance(100);
    clock.advance(699);
    expect(clock.turns.size).toBe(0);
    clock.advance(1);
    expect(clock.turns.size).toBe(1);
  });

  it.each([0, -1])('of %s ms ends in the next turn', (ms) => {
    const clock = new TurnClock();
    afterRunning(clock, () => undefined, ms);
    expect([clock.turns.size, clock.pendingTimers]).toEqual([1, 0]);
  });

  it('leaves nothing when it is released, whether its time has passed or not', () => {
    const clock = new TurnClock();
    const callback = () => {
      throw new Error('it was released');
    };
    const early = afterRunning(clock, callback, 800);
    const later = afterRunning(clock, callback, 800);
    clock.advance(400);
    early.release();
    clock.advance(400);
    later.release();
    expect([clock.turns.size, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('does not end before a time that timers cannot take', () => {
    const clock = new TurnClock();
    afterRunning(clock, () => undefined, 1e15);
    clock.advance(1e12);
    expect([clock.turns.size, clock.pendingTimers]).toEqual([0, 1]);
  });

  it('is never shorter by the clock of the system', async () => {
    const startMs = performance.now();
    await new Promise<void>((resolve) => {
      afterRunning(systemClock, resolve, 20.5);
      const endMs = performance.now() + 10;
      while (performance.now() < endMs);
    });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(20.5);
  });
});
