import type { Observation } from './children/messages';
import type { Write } from './workload/deployment';
import { latenciesOf, quantile } from './workload/latencies';

const endpoint = '10.244.1.1:50051';

const write = (sentMs: number, answeredMs: number, isUsed = true): Write => ({
  endpoint,
  isUsed,
  sentMs,
  answeredMs,
});

const observed = (atMs: number, isUsed = true): Observation => ({ endpoint, isUsed, atMs });

describe('how long a write takes until it is in use', () => {
  it('is the time from its answer to the first observation since it was sent', () => {
    const { ms, missing } = latenciesOf(
      [write(10, 20), write(30, 40, false)],
      [observed(5), observed(27), observed(29), observed(51, false)],
    );
    expect(ms).toEqual([7, 11]);
    expect(missing).toEqual([]);
  });

  it('is 0 for what is in use before the answer', () => {
    expect(latenciesOf([write(10, 20)], [observed(15)]).ms).toEqual([0]);
  });

  it('is not known of a write that was observed only before it was sent, or of another endpoint', () => {
    const before = write(10, 20);
    const observations = [observed(9), { ...observed(30), endpoint: '10.244.1.2:50051' }];
    expect(latenciesOf([before], observations)).toEqual({ ms: [], missing: [before] });
  });

  it.each([
    [0.5, 2],
    [0.99, 4],
    [1, 4],
  ])('has the quantile %p', (share, expected) => {
    expect(quantile([1, 2, 3, 4], share)).toBe(expected);
  });
});
