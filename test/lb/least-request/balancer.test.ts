import { leastRequestPolicy } from '../../../src/lb/least-request/balancer';
import { LeastRequestConfig } from '../../../src/lb/least-request/config';
import {
  describePick,
  LbHarness,
  pick,
  pickAddress,
  singleLocality,
} from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const config = new LeastRequestConfig(10);

/** A policy connected to all endpoints, that draws at random. */
function setUp(...addresses: string[]) {
  const harness = new LbHarness();
  const random = seededRandom(23);
  harness.random = random;
  const policy = harness.create(leastRequestPolicy);
  harness.updateEndpoints(policy, config, singleLocality(...addresses));
  for (const address of addresses) harness.subchannel(address).connect();
  const pickSome = (count: number) => {
    const picks = Array.from({ length: count }, () => pickAddress(harness.last.picker));
    return addresses.map((address) => picks.filter((picked) => picked === address).length);
  };
  return { harness, policy, pickSome };
}

describe('least_request', () => {
  it('spreads the picks of one turn of the event loop evenly', () => {
    const { pickSome } = setUp(A, B, C);
    for (const count of pickSome(300)) expect(Math.abs(count - 100)).toBeLessThanOrEqual(2);
  });

  it('does not count picks without a call in later turns', () => {
    const { harness, pickSome } = setUp(A, B);
    const [a0 = 0, b0 = 0] = pickSome(50);
    expect(a0 + b0).toBe(50);
    harness.clock.advance(1);
    // With equal counts, each of many single picks goes anywhere.
    let a = 0;
    for (let i = 0; i < 400; i++) {
      a += pickSome(1)[0] ?? 0;
      harness.clock.advance(1);
    }
    expect(Math.abs(a - 200)).toBeLessThan(50);
  });

  it('compares as many as configured', () => {
    const { harness, policy } = setUp(A, B, C);
    harness.updateEndpoints(policy, new LeastRequestConfig(2), singleLocality(A, B, C));
    const { picker } = harness.last;
    // Uneven by more than with ten: of two draws, both are the busiest one time in nine.
    const last: string[] = [];
    for (let i = 0; i < 300; i++) last.push(pickAddress(picker));
    const repeats = last.filter((address, i) => address === last[i - 1]).length;
    expect(repeats).toBeGreaterThan(30);
  });

  it('uses only endpoints that are READY, with one picker while they change', () => {
    const { harness, pickSome } = setUp(A, B, C);
    const before = harness.host.published.length;
    harness.subchannel(B).disconnect();
    const [a = 0, b, c = 0] = pickSome(100);
    expect(b).toBe(0);
    expect(Math.abs(a - c)).toBeLessThan(10);
    expect(harness.host.published.length).toBe(before);
  });

  it('queues calls that pick before the loss of the last connection was published', () => {
    const { harness } = setUp(A);
    const { picker } = harness.last;
    harness.subchannel(A).disconnect();
    expect(describePick(pick(picker))).toBe('QUEUE');
  });

  it('leaves no timer behind', () => {
    const { harness, policy, pickSome } = setUp(A);
    pickSome(5);
    expect(harness.clock.pendingTimers).toBe(1);
    harness.batch.run(() => policy.destroy());
    expect(harness.clock.pendingTimers).toBe(0);
  });
});
