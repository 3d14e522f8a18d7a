import { ConnectivityState } from '../../../src/grpc-js';
import { weightedTargetPolicy } from '../../../src/lb/weighted-target/balancer';
import { WeightedTargetConfig } from '../../../src/lb/weighted-target/config';
import { countWork } from '../../support/count-work';
import { LbHarness, pickError } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';

const { CONNECTING, READY, TRANSIENT_FAILURE } = ConnectivityState;

const childPolicy = { policyName: 'stub' };

function setUp(size: number, prefix = 'z') {
  const stub = new StubPolicyType();
  const harness = new LbHarness([stub]);
  const policy = harness.create(weightedTargetPolicy);
  const update = (names: string) => {
    const targets = Array.from(
      { length: size },
      (_, i) => [`${names}${i}`, { weight: 1, childPolicy }] as const,
    );
    const endpoints = { localities: [], children: new Map() };
    harness.updateEndpoints(policy, new WeightedTargetConfig(new Map(targets)), endpoints);
  };
  update(prefix);
  return { stub, harness, update };
}

describe('the work of weighted_target', () => {
  const workOf = (size: number, run: (subject: ReturnType<typeof setUp>) => void) => {
    const subject = setUp(size);
    return countWork(() => run(subject));
  };

  it('grows with the number of targets that become READY one after another', () => {
    const connect = ({ stub }: ReturnType<typeof setUp>) => {
      for (const [i, instance] of stub.instances.entries()) instance.reportReady(`${i}`);
    };
    expect(workOf(400, connect) / workOf(200, connect)).toBeLessThan(2.5);
  });

  it('grows with the number of targets that fail one after another', () => {
    const fail = ({ stub }: ReturnType<typeof setUp>) => {
      for (const instance of stub.instances) instance.reportFailure('down');
      for (const instance of stub.instances) instance.reportFailure('still down');
    };
    expect(workOf(400, fail) / workOf(200, fail)).toBeLessThan(2.5);
  });
});

describe('weighted_target', () => {
  it('keeps the last 1000 of the targets that were removed', () => {
    const { stub, harness, update } = setUp(600, 'a');
    const destroyed = () => stub.instances.filter((instance) => instance.destroyed).length;
    // 1. The first 600 are removed: all of them are kept.
    update('b');
    harness.clock.advance(0);
    expect(destroyed()).toBe(0);
    // 2. 600 more are removed: the 200 oldest are released, among those of the first 600.
    update('c');
    harness.clock.advance(0);
    expect(destroyed()).toBe(200);
    expect(stub.instances.slice(0, 200).every((instance) => instance.destroyed)).toBe(true);
  });

  it('picks the current connection of a target through a picker that was published before', () => {
    const { stub, harness } = setUp(20);
    stub.instance(3).reportReady('before');
    const { picker } = harness.last;
    stub.instance(3).reportReady('after');
    expect(pickError(picker)).toBe('after');
    stub.instance(3).report(CONNECTING);
    expect(() => pickError(picker)).toThrow('QUEUE');
  });

  it('uses a target again that was lost', () => {
    const { stub, harness } = setUp(2);
    stub.instance(0).reportReady('one');
    stub.instance(1).reportReady('other');
    stub.instance(0).report(CONNECTING);
    harness.random = 0;
    expect(pickError(harness.last.picker)).toBe('other');
    stub.instance(0).reportReady('one');
    expect(pickError(harness.last.picker)).toBe('one');
    stub.instance(0).reportFailure('down');
    stub.instance(1).reportFailure('down');
    expect(harness.last.state).toBe(TRANSIENT_FAILURE);
    stub.instance(1).reportReady('other');
    expect(harness.last.state).toBe(READY);
  });

  it('keeps a thousand of the targets that were removed', () => {
    const { stub, update } = setUp(600, 'a');
    for (const names of ['b', 'c', 'd']) update(names);
    expect(stub.live).toHaveLength(1600);
    const [first] = stub.instances;
    expect(first?.destroyed).toBe(true);
    update('c');
    expect(stub.instances).toHaveLength(2400);
    expect(stub.live).toHaveLength(1600);
  });
});
