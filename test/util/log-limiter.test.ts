import { LogLimiter } from '../../src/util/log-limiter';
import { FakeClock } from '../support/fake-clock';

function setUp() {
  const clock = new FakeClock();
  const limiter = new LogLimiter(clock);
  /** The results of so many lines of a cause. */
  let line = 0;
  const admit = (cause: string, count: number) =>
    Array.from({ length: count }, () => limiter.admit(cause, `line ${line++}`));
  return { clock, limiter, admit };
}

describe('LogLimiter', () => {
  it('admits five lines of a cause, then one in ten seconds, with the number of those left out', () => {
    const { clock, limiter, admit } = setUp();
    expect(admit('a', 7)).toEqual([0, 0, 0, 0, 0, undefined, undefined]);
    clock.advance(9_999);
    expect(admit('a', 1)).toEqual([undefined]);
    clock.advance(1);
    expect(admit('a', 2)).toEqual([3, undefined]);
    // The time while nothing happens counts, but for five lines at most.
    clock.advance(3_600_000);
    expect(admit('a', 6)).toEqual([1, 0, 0, 0, 0, undefined]);
    expect(limiter.admit('b', '')).toBe(0);
  });

  it('admits a line again after ten seconds only, or after another one of the cause', () => {
    const { clock, limiter } = setUp();
    const admit = (line: string) => limiter.admit('a', line);
    expect([admit('failed'), admit('failed'), admit('failed')]).toEqual([0, undefined, undefined]);
    expect([admit('recovered'), admit('failed')]).toEqual([2, 0]);
    clock.advance(9_999);
    expect(admit('failed')).toBeUndefined();
    clock.advance(1);
    expect(admit('failed')).toBe(1);
  });

  it('admits twenty lines in a second in all', () => {
    const { clock, limiter } = setUp();
    const admitted = (count: number) => {
      let lines = 0;
      for (let i = 0; i < count; i++) if (limiter.admit(`cause ${i}`, '') !== undefined) lines++;
      return lines;
    };
    expect(admitted(500)).toBe(20);
    clock.advance(999);
    expect(admitted(500)).toBe(0);
    clock.advance(1);
    expect(admitted(500)).toBe(20);
  });

  it('remembers a thousand causes, so that varying ones do not fill the memory', () => {
    const { clock, limiter, admit } = setUp();
    expect(admit('a', 6).at(-1)).toBeUndefined();
    for (let i = 0; i < 999; i++) {
      clock.advance(1);
      limiter.admit(`cause ${i}`, '');
    }
    expect(limiter.admit('a', '')).toBeUndefined();
    clock.advance(1000);
    for (let i = 0; i < 1000; i++) {
      clock.advance(1);
      limiter.admit(`other ${i}`, '');
    }
    clock.advance(1000);
    // Forgotten: otherwise it would have to wait for ten seconds.
    expect(limiter.admit('a', '')).toBe(0);
  });
});
