import { ConnectivityState } from '../../src/grpc-js';
import { roundRobinPolicy } from '../../src/lb/round-robin/balancer';
import { createRoundRobinConfig } from '../../src/lb/round-robin/config';
import { leastRequestPolicy } from '../../src/lb/least-request/balancer';
import { LeastRequestConfig } from '../../src/lb/least-request/config';
import { LbHarness, singleLocality } from '../support/lb-harness';

const ADDRESSES = Array.from({ length: 20 }, (_, i) => `10.0.0.${i}:80`);
const POLICIES = [
  { type: roundRobinPolicy, config: createRoundRobinConfig() },
  { type: leastRequestPolicy, config: new LeastRequestConfig(2) },
] as const;

/** A policy for which every look at the clock takes a millisecond, as if that were what a connection takes. */
function setUp({ type, config }: (typeof POLICIES)[number]) {
  const harness = new LbHarness();
  let timeMs = 0;
  jest.spyOn(harness.clock, 'monotonicMs').mockImplementation(() => timeMs++);
  const policy = harness.create(type);
  const update = (addresses: readonly string[]) =>
    harness.updateEndpoints(policy, config, singleLocality(...addresses));
  const connecting = () => harness.host.subchannels.map((subchannel) => subchannel.getAddress());
  return { harness, policy, update, connecting };
}

describe.each(POLICIES)('many connections of $type.name', (subject) => {
  it('are begun some at a time, in the order of the endpoints', () => {
    const { harness, update, connecting } = setUp(subject);
    update(ADDRESSES);
    const counts = [connecting().length];
    while (harness.clock.pendingTimers > 0 && counts.length < 100) {
      harness.clock.advance(1);
      counts.push(connecting().length);
    }
    expect(counts).toEqual([4, 8, 12, 16, 20]);
    expect(connecting()).toEqual(ADDRESSES);
  });

  it('serve calls while others are still to come', () => {
    const { harness, update } = setUp(subject);
    update(ADDRESSES);
    harness.subchannel('10.0.0.0:80').connect();
    expect(harness.last.state).toBe(ConnectivityState.READY);
  });

  it('are not begun to endpoints that are gone by then', () => {
    const { harness, update, connecting } = setUp(subject);
    update(ADDRESSES);
    update([...ADDRESSES.slice(0, 6), '10.9.9.9:80']);
    while (harness.clock.pendingTimers > 0) harness.clock.advance(1);
    expect(connecting()).toEqual([...ADDRESSES.slice(0, 6), '10.9.9.9:80']);
  });

  it('are not begun after the end', () => {
    const { harness, policy, update, connecting } = setUp(subject);
    update(ADDRESSES);
    policy.destroy();
    expect(harness.clock.pendingTimers).toBe(0);
    expect(connecting().length).toBe(4);
  });
});
