import { ResourceWaits, TIMEOUTS_PER_TURN } from '../../src/xds-client/ads/resource-waits';
import { FakeClock } from '../support/fake-clock';

function setUp(onTimeout: (type: string, name: string) => void = () => {}) {
  const clock = new FakeClock();
  const expired: string[] = [];
  const timers = new ResourceWaits({
    clock,
    random: () => 0.5,
    timeoutMs: 100,
    onTimeout: (type, name) => {
      expired.push(`${type} ${name}`);
      onTimeout(type, name);
    },
  });
  const start = (type: string, ...names: readonly string[]) => timers.start(type, names, false);
  return { clock, expired, timers, start };
}

describe('the timers of waits', () => {
  it('are cancelled by the expiry of one that was started together with them', () => {
    const { clock, expired, timers, start } = setUp((type) => {
      timers.end(type, 'b');
      start(type, 'c');
      start(type, 'a');
    });
    start('t', 'a', 'b', 'c');
    clock.advance(100);
    expect(expired).toEqual(['t a', 't c']);
    expect(timers.remainingMs('t', 'a')).toBe(100);
  });

  it('expire a bounded number at a time, also if they are paused or cancelled in between', () => {
    const { clock, expired, timers, start } = setUp();
    const names = Array.from({ length: 3 * TIMEOUTS_PER_TURN }, (_, i) => `n${i}`);
    start('t', ...names);
    clock.advance(100);
    expect(expired).toHaveLength(TIMEOUTS_PER_TURN);
    expect([timers.remainingMs('t', 'n0'), timers.isEmpty]).toEqual([undefined, false]);
    timers.end('t', `n${TIMEOUTS_PER_TURN}`);
    timers.pause();
    clock.advance(1);
    expect(expired).toHaveLength(TIMEOUTS_PER_TURN);
    timers.resume();
    expect(expired).toHaveLength(2 * TIMEOUTS_PER_TURN);
    clock.advance(1);
    expect(expired).toEqual(
      names.filter((name) => name !== `n${TIMEOUTS_PER_TURN}`).map((name) => `t ${name}`),
    );
    expect([timers.isEmpty, clock.pendingTimers]).toEqual([true, 0]);
  });

  it('of an earlier start do not end a later one', () => {
    const { clock, expired, timers, start } = setUp();
    start('t', 'a', 'b');
    timers.pause();
    clock.advance(100);
    timers.end('t', 'a');
    start('t', 'a');
    timers.resume();
    expect([expired, timers.remainingMs('t', 'a')]).toEqual([['t b'], 100]);
  });

  it('do not expire while they are paused, and are cancelled or expire afterwards', () => {
    const { clock, expired, timers, start } = setUp();
    start('t', 'a');
    start('t', 'b');
    timers.pause();
    clock.advance(150);
    timers.pause();
    expect([expired, timers.remainingMs('t', 'a'), timers.isEmpty]).toEqual([[], 0, false]);
    timers.end('t', 'a');
    timers.resume();
    expect(expired).toEqual(['t b']);
    timers.resume();
    expect([expired, timers.isEmpty]).toEqual([['t b'], true]);
  });
});
