import { AdaptiveThrottle } from '../../../src/lb/rls/throttle';
import { FakeClock } from '../../support/fake-clock';

describe('the throttle of lookups', () => {
  const clock = new FakeClock();
  let random = 0;
  let throttle = new AdaptiveThrottle(clock, () => random);

  beforeEach(() => {
    throttle = new AdaptiveThrottle(clock, () => random);
  });

  /** The probability, found by the numbers that do and do not reach it. */
  function isAt(probability: number): boolean {
    random = probability + 1e-9;
    const isAbove = throttle.shouldThrottle();
    return !isAbove;
  }

  it('sends everything while requests are accepted', () => {
    random = 0;
    expect(throttle.shouldThrottle()).toBe(false);
    for (let i = 0; i < 100; i++) throttle.add(i % 2 === 0);
    expect(throttle.shouldThrottle()).toBe(false);
  });

  it('leaves out a share of (requests - 2 * accepts) / (requests + 8)', () => {
    for (let i = 0; i < 12; i++) throttle.add(i < 2);
    expect(isAt(8 / 20)).toBe(true);
    random = 8 / 20 - 1e-9;
    expect(throttle.shouldThrottle()).toBe(true);
    // What was left out counts as not accepted.
    expect(isAt(9 / 21)).toBe(true);
    random = 9 / 21 - 1e-9;
    expect(throttle.shouldThrottle()).toBe(true);
  });

  it('forgets what was more than 30 s ago', () => {
    random = 0;
    for (let i = 0; i < 100; i++) throttle.add(false);
    clock.advance(29_000);
    expect(throttle.shouldThrottle()).toBe(true);
    clock.advance(31_000);
    expect(throttle.shouldThrottle()).toBe(false);
  });
});
