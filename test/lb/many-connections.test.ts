import { ConnectivityState } from '../../src/grpc-js';
import { ConnectionAttempts } from '../../src/lb/connections/connection-attempts';
import { queuePicker } from '../../src/lb/connectivity';
import type { EndpointSet } from '../../src/lb/endpoints/endpoint-set';
import { leastRequestPolicy } from '../../src/lb/least-request/balancer';
import { LeastRequestConfig } from '../../src/lb/least-request/config';
import { roundRobinPolicy } from '../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../src/lb/round-robin/config';
import { FakeLbHost } from '../../src/testing/fake-lb-host';
import { silentLogger } from '../../src/util/logger';
import { err, ok, type Result } from '../../src/util/result';
import { LbHarness, pickAddress, singleLocality } from '../support/lb-harness';
import { seededRandom } from '../support/seeded-random';

const ADDRESSES = Array.from({ length: 10 }, (_, i) => `10.0.0.${i}:80`);
const [A, B, C] = ['10.9.0.1:80', '10.9.0.2:80', '10.9.0.3:80'] as const;
const POLICIES = [
  { type: roundRobinPolicy, config: new RoundRobinConfig() },
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
    harness.send(policy, harness.completeUpdate({ config, endpoints }));
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

  it('keep serving calls when there are no file descriptors for the others', () => {
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

describe.each(POLICIES)('many endpoints of $type.name', ({ type, config }) => {
  const many = Array.from({ length: 4000 }, (_, i) => `10.1.${i >> 8}.${i & 255}:80`);

  /** Every look at the clock takes nine milliseconds, and there are attempts to a hundred endpoints at a time. */
  function setUpSlow(...before: readonly string[]) {
    const harness = new LbHarness();
    harness.random = seededRandom(1);
    const { clock } = harness;
    let timeMs = 0;
    jest.spyOn(clock, 'monotonicMs').mockImplementation(() => (timeMs += 9));
    const options = { clock, random: () => 0.5, logger: silentLogger, maxConnectionAttempts: 100 };
    const connectionAttempts = new ConnectionAttempts(options);
    const host = new FakeLbHost({ ...harness.environment, connectionAttempts });
    const policy = type.create(host);
    const send = (endpoints: Result<EndpointSet, string>) =>
      harness.send(policy, harness.completeUpdate({ config, endpoints }));
    const update = (...addresses: readonly string[]) => send(ok(singleLocality(...addresses)));
    const finish = () => {
      for (let turn = 0; turn < 400; turn++) clock.advance(1);
    };
    const connect = (...addresses: readonly string[]) => {
      for (const each of host.held) {
        const isReady = each.getConnectivityState() === ConnectivityState.READY;
        if (addresses.includes(each.getAddress()) && !isReady) each.connect();
      }
    };
    const held = () => host.held.map((each) => each.getAddress()).sort();
    const used = () => {
      const { picker } = host.published.at(-1) ?? { picker: queuePicker };
      const picked = Array.from({ length: 200 }, () => pickAddress(picker));
      return [...new Set(picked)].sort();
    };
    if (before.length > 0) {
      update(...before);
      finish();
      connect(...before);
    }
    const { batch, errors } = harness;
    return {
      batch,
      clock,
      connect,
      errors,
      finish,
      harness,
      held,
      host,
      policy,
      send,
      update,
      used,
    };
  }

  it('are connected to some milliseconds at a time, while calls use the previous ones', () => {
    const { clock, finish, held, update, used } = setUpSlow(A);
    update(...many);
    for (let turn = 0; turn < 2; turn++) {
      expect(used()).toEqual([A]);
      expect(held()).toContain(A);
      clock.advance(1);
    }
    finish();
    expect(held()).not.toContain(A);
    expect(many).toEqual(expect.arrayContaining(held()));
  });

  it('are those of the newest of several updates', () => {
    const { clock, connect, host, finish, held, update, used } = setUpSlow(A);
    update(...many);
    update(B);
    clock.advance(1);
    update(C, A);
    finish();
    expect(held()).toEqual([A, C]);
    expect(host.subchannels.map((each) => each.getAddress())).not.toContain(B);
    connect(A, C);
    expect(used()).toEqual([A, C]);
  });

  it('are not replaced by an error received while they are being listed', () => {
    const { finish, host, send, update } = setUpSlow();
    update(...many);
    send(err('no more'));
    finish();
    expect(host.published.map(({ state }) => state)).toEqual([ConnectivityState.CONNECTING]);
  });

  it('are not missing while they are being listed for the first time', () => {
    const { finish, host, policy, harness } = setUpSlow();
    const endpoints = ok(singleLocality(...many));
    const update = harness.completeUpdate({ config, endpoints });
    harness.send(policy, update);
    finish();
    expect(host.published.map(({ state }) => state)).toEqual([ConnectivityState.CONNECTING]);
  });

  it.each([0, 1, 2, 3, 4, 6, 8])('are released in the middle, after %s turns', (turns) => {
    const { batch, clock, errors, finish, held, host, policy, update } = setUpSlow(A);
    update(...many);
    clock.advance(turns);
    update(B);
    const { length } = host.subchannels;
    batch.run(() => policy.destroy());
    finish();
    expect(host.subchannels).toHaveLength(length);
    expect(held()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(errors).toEqual([]);
  });

  it('are removed some at a time', () => {
    const before = many.slice(0, 300).sort();
    const { clock, connect, finish, held, update, used } = setUpSlow();
    update(...before);
    for (let i = 0; held().length < before.length && i < 10; i++) {
      finish();
      connect(...before);
    }
    expect(held()).toEqual(before);
    update(A);
    expect(held().length).toBeGreaterThan(100);
    expect(used().length).toBeGreaterThan(10);
    clock.advance(1);
    connect(A);
    finish();
    expect(held()).toEqual([A]);
    connect(A);
    expect(used()).toEqual([A]);
  });
});
