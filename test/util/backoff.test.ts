import { connectionBackoff, firstBackoffStep, type BackoffOptions } from '../../src/util/backoff';

function delays(options: BackoffOptions, count: number, random: () => number): number[] {
  const result: number[] = [];
  let step = firstBackoffStep(options, random);
  for (let i = 0; i < count; i++) {
    result.push(step.delayMs);
    step = step.next();
  }
  return result;
}

const middle = () => 0.5;

describe('firstBackoffStep', () => {
  it('grows by the factor up to the maximum', () => {
    const options = { initialMs: 100, multiplier: 2, maxMs: 700, jitter: 0 };
    expect(delays(options, 5, middle)).toEqual([100, 200, 400, 700, 700]);
  });

  it('starts at the maximum if that is lower', () => {
    const options = { initialMs: 1000, multiplier: 2, maxMs: 300, jitter: 0 };
    expect(delays(options, 2, middle)).toEqual([300, 300]);
  });

  it.each([
    [0, 80],
    [0.25, 90],
    [0.5, 100],
    [0.75, 110],
  ])('spreads a delay by the jitter: random %d gives %d ms', (random, delayMs) => {
    const options = { initialMs: 100, multiplier: 1, maxMs: 1000, jitter: 0.2 };
    expect(delays(options, 1, () => random)[0]).toBeCloseTo(delayMs, 9);
  });

  it('does not let the jitter of one step carry over into the next', () => {
    const draws = [0, 0.5];
    const options = { initialMs: 100, multiplier: 2, maxMs: 1000, jitter: 0.2 };
    expect(delays(options, 2, () => draws.shift() ?? 0.5)).toEqual([80, 200]);
  });

  it('applies the jitter to the maximum, too', () => {
    const options = { initialMs: 100, multiplier: 2, maxMs: 100, jitter: 0.2 };
    expect(delays(options, 1, () => 0.75)[0]).toBeCloseTo(110, 9);
  });

  it('follows the connection backoff of gRPC', () => {
    const steps = delays(connectionBackoff, 13, middle);
    expect(steps.slice(0, 3)).toEqual([1000, 1600, 2560]);
    expect(steps.at(-1)).toBe(120_000);
  });

  it('leaves a step unchanged when the next one is taken', () => {
    const first = firstBackoffStep(connectionBackoff, middle);
    first.next().next();
    expect(first.delayMs).toBe(1000);
    expect(first.next().delayMs).toBe(1600);
  });
});
