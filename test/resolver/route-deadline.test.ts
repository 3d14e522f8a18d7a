import { formatTimeout, parseTimeout, RouteDeadline } from '../../src/resolver/route-deadline';
import { FakeClock } from '../support/fake-clock';

describe('the timeout of a route', () => {
  it('says in the status how long the call has taken', () => {
    const clock = new FakeClock();
    const deadline = new RouteDeadline({
      clock,
      startMs: clock.monotonicMs(),
      timeoutMs: 1500,
      retryPolicy: undefined,
      onPassed: () => undefined,
    });
    clock.advance(1500);
    expect(deadline.status('Waiting for LB pick').details).toBe(
      'Deadline exceeded after 1.500s,timeout of the route,Waiting for LB pick',
    );
  });
});

describe('grpc-timeout', () => {
  it.each([
    [0, '0m'],
    [1500.2, '1501m'],
    [99_999_999, '99999999m'],
    [100_000_000, '100000S'],
    [1e8 * 1000, '1666667M'],
    [Number.MAX_VALUE, '99999999H'],
  ])('is at least the time that is left: %d ms is %s', (ms, header) => {
    expect(formatTimeout(ms)).toBe(header);
  });

  it.each([
    ['250m', 250],
    ['3S', 3000],
    ['2M', 120_000],
    ['1H', 3_600_000],
    ['5u', Infinity],
    ['123456789m', Infinity],
    ['m', Infinity],
    ['-1m', Infinity],
    ['', Infinity],
  ])('of %s is %d ms', (header, ms) => {
    expect(parseTimeout(header)).toBe(ms);
  });
});
