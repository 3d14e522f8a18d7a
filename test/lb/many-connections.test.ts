import { ConnectivityState } from '../../src/grpc-js';
import { ConnectionAttempts } from '../../src/lb/connection-attempts';
import { leastRequestPolicy } from '../../src/lb/least-request/balancer';
import { LeastRequestConfig } from '../../src/lb/least-request/config';
import { roundRobinPolicy } from '../../src/lb/round-robin/balancer';
import { createRoundRobinConfig } from '../../src/lb/round-robin/config';
import { FakeLbHost } from '../../src/testing/fake-lb-host';
import { silentLogger } from '../../src/util/logger';
import { ok } from '../../src/util/result';
import { LbHarness, pickAddress, singleLocality } from '../support/lb-harness';

const ADDRESSES = Array.from({ length: 10 }, (_, i) => `10.0.0.${i}:80`);
const POLICIES = [
  { type: roundRobinPolicy, config: createRoundRobinConfig() },
  { type: leastRequestPolicy, config: new LeastRequestConfig(2) },
] as const;

/** A policy in a process that may have four attempts in flight. */
function setUp({ type, config }: (typeof POLICIES)[number]) {
  const harness = new LbHarness();
  const { clock, environment } = harness;
  const host = new FakeLbHost({
    ...environment,
    connectionAttempts: new ConnectionAttempts({
      clock,
      random: () => 0.5,
      logger: silentLogger,
      maxConnectionAttempts: 4,
    }),
  });
  const policy = type.create(host);
  const update = (addresses: readonly string[]) => {
    const endpoints = ok(singleLocality(...addresses));
    harness.batch.run(() => policy.update(harness.completeUpdate({ config, endpoints })));
  };
  const subchannel = (index: number) => {
    const found = host.subchannels[index];
    if (found === undefined) throw new Error(`There are ${host.subchannels.length} subchannels`);
    return found;
  };
  const connecting = () => host.subchannels.map((each) => each.getAddress());
  return { clock, host, policy, update, subchannel, connecting };
}

describe.each(POLICIES)('many connections of $type.name', (subject) => {
  it('are attempted some at a time, in the order of the endpoints', () => {
    const { clock, update, subchannel, connecting } = setUp(subject);
    update(ADDRESSES);
    expect(connecting()).toEqual(ADDRESSES.slice(0, 4));
    subchannel(1).connect();
    clock.advance(1);
    expect(connecting()).toEqual(ADDRESSES.slice(0, 5));
    for (const index of [0, 2, 3, 4]) subchannel(index).connect();
    clock.advance(1);
    expect(connecting()).toEqual(ADDRESSES.slice(0, 9));
  });

  it('serve calls while others are still pending', () => {
    const { host, update, subchannel } = setUp(subject);
    update(ADDRESSES);
    subchannel(0).connect();
    expect(host.published.at(-1)?.state).toBe(ConnectivityState.READY);
  });

  it('are not attempted to endpoints that were removed meanwhile', () => {
    const { clock, update, subchannel, connecting } = setUp(subject);
    update(ADDRESSES);
    update([...ADDRESSES.slice(0, 4), '10.9.9.9:80']);
    subchannel(0).connect();
    clock.advance(1);
    expect(connecting()).toEqual([...ADDRESSES.slice(0, 4), '10.9.9.9:80']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('are not attempted after the policy was destroyed', () => {
    const { clock, policy, update, connecting } = setUp(subject);
    update(ADDRESSES);
    policy.destroy();
    expect(clock.pendingTimers).toBe(0);
    expect(connecting().length).toBe(4);
  });

  it('go on serving calls when there are no file descriptors for the others', () => {
    const { host, update, subchannel, connecting } = setUp(subject);
    update(ADDRESSES);
    subchannel(0).connect();
    for (const index of [1, 2, 3]) subchannel(index).fail('Error: connect EMFILE 10.0.0.1:80');
    expect(connecting().length).toBe(4);
    const last = host.published.at(-1);
    expect(last?.state).toBe(ConnectivityState.READY);
    expect(last && pickAddress(last.picker)).toBe(ADDRESSES[0]);
  });
});
