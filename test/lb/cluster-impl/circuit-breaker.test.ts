import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { FakeClock } from '../../support/fake-clock';

function setUp() {
  const clock = new FakeClock();
  return { clock, counters: new CallCounterMap(clock) };
}

describe('CallCounterMap', () => {
  it('does not confuse names that only look alike when put together', () => {
    const { counters } = setUp();
    const { counter } = counters.acquire('a","b', '');
    expect(counters.acquire('a', 'b').counter).not.toBe(counter);
  });

  it('keeps a counter while calls are counted by it', () => {
    const { counters } = setUp();
    const hold = counters.acquire('c', '');
    hold.counter.start();
    hold.release();
    const again = counters.acquire('c', '');
    expect(again.counter.count).toBe(1);
    again.release();
    again.counter.end();
    expect(counters.size).toBe(0);
  });

  it('keeps a new counter when a call on the old one ends', () => {
    const { counters } = setUp();
    const old = counters.acquire('c', '');
    old.counter.reserve(1);
    old.release();
    const { counter } = counters.acquire('c', '');
    old.counter.start();
    old.counter.end();
    expect(counters.acquire('c', '').counter).toBe(counter);
  });
});

describe('CallCounter', () => {
  it('counts a call from its pick to its end', () => {
    const { clock, counters } = setUp();
    const { counter } = counters.acquire('c', '');
    counter.reserve(1);
    expect(counter.count).toBe(1);
    counter.start();
    expect(counter.count).toBe(1);
    clock.advance(1000);
    expect(counter.count).toBe(1);
    counter.end();
    expect(counter.count).toBe(0);
  });

  it('does not count a pick that no call followed beyond the turn of the event loop', () => {
    const { clock, counters } = setUp();
    const { counter } = counters.acquire('c', '');
    counter.reserve(1);
    counter.reserve(1);
    counter.start();
    clock.advance(1);
    expect(counter.count).toBe(1);
  });

  it('counts a call that started after its place was lost', () => {
    const { clock, counters } = setUp();
    const { counter } = counters.acquire('c', '');
    counter.reserve(1);
    clock.advance(1);
    counter.start();
    expect(counter.count).toBe(1);
    counter.end();
    expect(counter.count).toBe(0);
  });

  it('sets one timer for however many picks', () => {
    const { clock, counters } = setUp();
    const hold = counters.acquire('c', '');
    for (let i = 0; i < 5; i++) hold.counter.reserve(1);
    expect(clock.pendingTimers).toBe(1);
    hold.release();
    expect(clock.pendingTimers).toBe(0);
  });
});
