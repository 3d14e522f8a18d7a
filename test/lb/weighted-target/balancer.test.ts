import { ConnectivityState } from '../../../src/grpc-js';
import { describeWait, queuePicker, WaitPicker, waitOf } from '../../../src/lb/connectivity';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { weightedTargetPolicy } from '../../../src/lb/weighted-target/balancer';
import { WeightedTargetConfig } from '../../../src/lb/weighted-target/config';
import { err, ok } from '../../../src/util/result';
import { LbHarness, pick, pickError, singleLocality } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

const RETENTION_MS = 15 * 60 * 1000;
const childPolicy = { policyName: 'stub' };

function makeConfig(weights: Readonly<Record<string, number>>): WeightedTargetConfig {
  const targets = Object.entries(weights).map(
    ([name, weight]) => [name, { weight, childPolicy }] as const,
  );
  return new WeightedTargetConfig(new Map(targets));
}

function makeEndpoints(...names: string[]): EndpointSet {
  const children = names.map((name, i) => [name, singleLocality(`10.0.0.${i}:80`)] as const);
  return { localities: [], children: new Map(children) };
}

function setUp(weights: Readonly<Record<string, number>>) {
  const stub = new StubPolicyType();
  const harness = new LbHarness([stub]);
  const policy = harness.create(weightedTargetPolicy);
  const endpoints = makeEndpoints('a', 'b', 'c');
  const update = (next: Readonly<Record<string, number>>) =>
    harness.updateEndpoints(policy, makeConfig(next), endpoints);
  update(weights);
  const pickAt = (random: number) => {
    harness.random = random;
    return pickError(harness.last.picker);
  };
  return { stub, harness, policy, endpoints, update, pickAt };
}

describe('weighted_target', () => {
  it('gives each target its endpoints', () => {
    const { stub, endpoints } = setUp({ a: 1, b: 1, missing: 1 });
    const given = stub.instances.map(({ lastUpdate }) => lastUpdate.endpoints);
    expect(given[0]).toEqual(ok(endpoints.children?.get('a')));
    expect(given[1]).toEqual(ok(endpoints.children?.get('b')));
    expect(given[2]).toEqual(ok({ localities: [], children: undefined }));
  });

  it('picks among the READY targets by weight', () => {
    const { stub, pickAt } = setUp({ a: 1, b: 3, c: 4 });
    stub.instance(0).reportReady('a');
    stub.instance(1).reportReady('b');
    stub.instance(2).report(CONNECTING);
    expect([0, 0.24, 0.25, 0.99].map(pickAt)).toEqual(['a', 'a', 'b', 'b']);
    stub.instance(2).reportReady('c');
    expect([0.12, 0.49, 0.5].map(pickAt)).toEqual(['a', 'b', 'c']);
  });

  it('says of a call that waits what the first targets say that are connecting', () => {
    const { stub, harness } = setUp({ a: 1, b: 1, c: 1 });
    for (const [i, name] of ['a', 'b', 'c'].entries()) {
      stub.instance(i).report(CONNECTING, new WaitPicker(() => `${name} waits`));
    }
    expect(waitOf(pick(harness.last.picker))).toBe('a waits; b waits');
    stub.instance(0).report(TRANSIENT_FAILURE, queuePicker);
    expect(describeWait(harness.last.picker)).toBe('b waits; c waits');
    for (const i of [1, 2]) stub.instance(i).report(CONNECTING, queuePicker);
    expect(describeWait(harness.last.picker)).toBe('no endpoint is connected');
  });

  it('picks by weights whose sum exceeds 32 bits', () => {
    const max = 2 ** 32 - 1;
    const { stub, pickAt } = setUp({ a: max, b: max, c: max });
    for (const [i, name] of ['a', 'b', 'c'].entries()) stub.instance(i).reportReady(name);
    expect([0.1, 0.5, 0.9].map(pickAt)).toEqual(['a', 'b', 'c']);
  });

  it.each([
    [[CONNECTING, IDLE], CONNECTING],
    [[IDLE, TRANSIENT_FAILURE], IDLE],
    [[TRANSIENT_FAILURE, CONNECTING], CONNECTING],
    [[TRANSIENT_FAILURE, TRANSIENT_FAILURE], TRANSIENT_FAILURE],
  ])('with targets in %j is in %s', (states, expected) => {
    const { stub, harness } = setUp({ a: 1, b: 1 });
    states.forEach((state, i) => stub.instance(i).report(state));
    expect(harness.last.state).toBe(expected);
  });

  it('fails calls with the errors of its targets when all have failed', () => {
    const { stub, harness, pickAt } = setUp({ a: 1, b: 1 });
    stub.instance(0).reportFailure('a is down');
    stub.instance(1).reportFailure('b is down');
    expect([0, 0.5].map(pickAt)).toEqual(['a is down', 'b is down']);
    expect(harness.last.errorMessage).toBe('a is down');
  });

  it('connects its targets when a call is picked in IDLE', () => {
    const { stub, harness } = setUp({ a: 1 });
    stub.instance(0).report(IDLE);
    pick(harness.last.picker);
    expect(stub.instance(0).exitIdleCalls).toBe(0);
    harness.clock.flush();
    expect(stub.instance(0).exitIdleCalls).toBe(1);
  });

  it('changes a weight without an update of the target', () => {
    const { stub, update, pickAt } = setUp({ a: 1, b: 1 });
    stub.instance(0).reportReady('a');
    stub.instance(1).reportReady('b');
    update({ a: 1, b: 9 });
    expect([0.09, 0.11].map(pickAt)).toEqual(['a', 'b']);
    expect(stub.instances.map(({ updates }) => updates.length)).toEqual([1, 1]);
  });

  it('keeps a target that was removed for 15 minutes, without using it', () => {
    const { stub, harness, update, pickAt } = setUp({ a: 1, b: 1 });
    // 1. Both are READY; b is removed.
    stub.instance(0).reportReady('a');
    stub.instance(1).reportReady('b');
    update({ a: 1 });
    expect([0, 0.99].map(pickAt)).toEqual(['a', 'a']);
    // 2. What it reports now does not matter.
    const before = harness.host.published.length;
    stub.instance(1).report(CONNECTING);
    expect(harness.host.published.length).toBe(before);
    // 3. It goes when the time is up.
    harness.clock.advance(RETENTION_MS - 1);
    expect(stub.instance(1).destroyed).toBe(false);
    harness.clock.advance(1);
    expect(stub.instance(1).destroyed).toBe(true);
    expect(harness.clock.pendingTimers).toBe(0);
  });

  it('takes a target back that returns within 15 minutes', () => {
    const { stub, harness, update, pickAt } = setUp({ a: 1, b: 1 });
    stub.instance(0).reportReady('a');
    stub.instance(1).reportReady('b');
    update({ a: 1 });
    harness.clock.advance(RETENTION_MS - 1);
    update({ a: 1, b: 1 });
    expect(harness.clock.pendingTimers).toBe(0);
    harness.clock.advance(RETENTION_MS);
    expect(stub.instances.length).toBe(2);
    expect([0, 0.99].map(pickAt)).toEqual(['a', 'b']);
  });

  it('does not keep a removed target for longer because of more updates', () => {
    const { stub, harness, update } = setUp({ a: 1, b: 1 });
    update({ a: 1 });
    harness.clock.advance(RETENTION_MS - 1);
    update({ a: 2 });
    harness.clock.advance(1);
    expect(stub.instance(1).destroyed).toBe(true);
  });

  it('makes a target anew that returns after 15 minutes', () => {
    const { stub, harness, update } = setUp({ a: 1, b: 1 });
    update({ a: 1 });
    harness.clock.advance(RETENTION_MS);
    update({ a: 1, b: 1 });
    expect(stub.instances.length).toBe(3);
  });

  it('stops its timers when destroyed', () => {
    const { stub, harness, policy, update } = setUp({ a: 1, b: 1 });
    update({ a: 1 });
    harness.batch.run(() => policy.destroy());
    expect(harness.clock.pendingTimers).toBe(0);
    expect(stub.live).toEqual([]);
  });

  it('hands an error about the endpoints to its targets', () => {
    const { stub, harness, policy } = setUp({ a: 1 });
    harness.update(policy, { config: makeConfig({ a: 1 }), endpoints: err('no such name') });
    expect(stub.instance(0).lastUpdate.endpoints).toEqual(err('no such name'));
  });

  it('fails calls when there are no targets, and recovers', () => {
    const { stub, harness, update } = setUp({});
    expect(harness.last.state).toBe(TRANSIENT_FAILURE);
    expect(pickError(harness.last.picker)).toBe('There are no targets to choose from');
    update({ a: 1 });
    stub.instance(0).reportReady('a');
    expect(harness.last.state).toBe(READY);
  });
});
