import { ResourceTimers } from '../../src/xds-client/resource-timers';
import { FakeClock } from '../support/fake-clock';

function setUp() {
  const clock = new FakeClock();
  const expired: string[] = [];
  const timers = new ResourceTimers(clock, 100, (type, name) => expired.push(`${type} ${name}`));
  return { clock, expired, timers };
}

describe('ResourceTimers', () => {
  it('expire once each, in the order they were started', () => {
    const { clock, expired, timers } = setUp();
    timers.start('t', 'a');
    clock.advance(10);
    timers.start('u', 'a');
    timers.start('t', '__proto__');
    clock.advance(1000);
    expect(expired).toEqual(['t a', 'u a', 't __proto__']);
  });

  it('are not prolonged by starting them again', () => {
    const { clock, expired, timers } = setUp();
    timers.start('t', 'a');
    clock.advance(60);
    timers.start('t', 'a');
    expect(timers.remainingMs('t', 'a')).toBe(40);
    clock.advance(40);
    expect(expired).toEqual(['t a']);
    expect(timers.remainingMs('t', 'a')).toBeUndefined();
  });

  it('never expire once cancelled or cleared', () => {
    const { clock, expired, timers } = setUp();
    timers.start('t', 'a');
    timers.start('t', 'b');
    timers.start('u', 'c');
    timers.cancel('t', 'a');
    timers.cancel('t', 'unknown');
    timers.cancel('unknown', 'a');
    expect(clock.pendingTimers).toBe(2);
    timers.clear();
    expect(clock.pendingTimers).toBe(0);
    clock.advance(1000);
    expect(expired).toEqual([]);
  });
});
