import { ConnectivityState } from '../../../src/grpc-js';
import { SwitchingChild } from '../../../src/lb/tree/child';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { err, ok } from '../../../src/util/result';
import type { PartialUpdate } from '../../../src/testing/lb-harness';
import { LbHarness, makeEndpointSet, makeLocality, pickError } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

function setUp() {
  const a = new StubPolicyType('a');
  const b = new StubPolicyType('b');
  const harness = new LbHarness([a, b]);
  let changes = 0;
  const child = new SwitchingChild({ host: harness.host, onStateChanged: () => changes++ });
  const configs = { a: { policyName: 'a' }, b: { policyName: 'b' } };
  const send = (given: PartialUpdate) => {
    const { config, endpoints, context } = harness.completeUpdate(given);
    harness.batch.run(() => child.update(config, endpoints, context));
  };
  const update = (name: 'a' | 'b', endpoints = emptyEndpointSet) =>
    send({ config: configs[name], endpoints: ok(endpoints) });
  return { a, b, harness, child, send, update, configs, changes: () => changes };
}

describe('SwitchingChild', () => {
  it('makes the policy its config names and hands it the update', () => {
    const { a, harness, child, update } = setUp();
    update('a');
    expect(a.instances).toHaveLength(1);
    expect(a.instance(0).lastUpdate.config.policyName).toBe('a');
    expect(a.instance(0).host.depth).toBe(harness.host.depth + 1);
    expect(child.state).toBe(CONNECTING);
  });

  it('keeps what the policy reports and notifies the parent', () => {
    const { a, child, update, changes } = setUp();
    update('a');
    a.instance(0).reportFailure('refused');
    expect(child.state).toBe(TRANSIENT_FAILURE);
    expect(child.errorMessage).toBe('refused');
    expect(pickError(child.picker)).toBe('refused');
    expect(changes()).toBe(1);
  });

  it('does not forward an unchanged update', () => {
    const { a, update } = setUp();
    const endpoints = makeEndpointSet(makeLocality('r', ['10.0.0.1:80']));
    update('a', endpoints);
    update('a', endpoints);
    expect(a.instance(0).updates).toHaveLength(1);
  });

  it.each([
    ['config', { config: { policyName: 'a' } }],
    ['endpoints', { endpoints: ok(makeEndpointSet(makeLocality('r', []))) }],
    ['error', { endpoints: err('gone') }],
    ['options', { options: {} }],
  ])('passes on an update whose %s changed', (_part, change) => {
    const { a, send, configs } = setUp();
    const first = { config: configs.a, endpoints: ok(emptyEndpointSet) };
    send(first);
    send({ ...first });
    expect(a.instance(0).updates).toHaveLength(1);
    send({ ...first, ...change });
    expect(a.instance(0).updates).toHaveLength(2);
  });

  it('keeps a READY policy until its replacement has left CONNECTING', () => {
    const { a, b, child, update, changes } = setUp();
    // 1. `a` serves.
    update('a');
    a.instance(0).reportReady('from a');
    // 2. `b` takes the update, but `a` still serves.
    update('b');
    b.instance(0).report(CONNECTING);
    expect(pickError(child.picker)).toBe('from a');
    expect(changes()).toBe(1);
    // 3. `a` may still replace its picker meanwhile.
    a.instance(0).reportReady('from a again');
    expect(pickError(child.picker)).toBe('from a again');
    // 4. `b` is ready and takes over.
    b.instance(0).reportReady('from b');
    expect(pickError(child.picker)).toBe('from b');
    expect(a.instance(0).destroyed).toBe(true);
    expect(changes()).toBe(3);
  });

  it('takes the replacement at once when the old policy stops being READY', () => {
    const { a, b, child, update } = setUp();
    update('a');
    a.instance(0).reportReady('from a');
    update('b');
    a.instance(0).report(IDLE);
    expect(child.state).toBe(CONNECTING);
    expect(a.instance(0).destroyed).toBe(true);
    expect(b.instance(0).destroyed).toBe(false);
  });

  it('replaces a policy that does not serve without waiting', () => {
    const { a, b, child, update } = setUp();
    update('a');
    a.instance(0).reportFailure('refused');
    update('b');
    expect(a.instance(0).destroyed).toBe(true);
    expect(child.state).toBe(CONNECTING);
    a.instance(0).reportReady('late');
    expect(child.state).toBe(CONNECTING);
    b.instance(0).reportReady('from b');
    expect(pickError(child.picker)).toBe('from b');
  });

  it('keeps the serving policy when the config returns to it', () => {
    const { a, b, child, update } = setUp();
    update('a');
    a.instance(0).reportReady('from a');
    update('b');
    update('a', makeEndpointSet(makeLocality('r', ['10.0.0.1:80'])));
    expect(b.instance(0).destroyed).toBe(true);
    expect(a.instances).toHaveLength(1);
    expect(a.instance(0).updates).toHaveLength(2);
    expect(pickError(child.picker)).toBe('from a');
  });

  it('takes re-resolution requests only from the newest policy', () => {
    const { a, b, harness, update } = setUp();
    update('a');
    a.instance(0).reportReady('from a');
    update('b');
    a.instance(0).host.requestReresolution();
    expect(harness.host.reresolutionRequests).toBe(0);
    b.instance(0).host.requestReresolution();
    expect(harness.host.reresolutionRequests).toBe(1);
  });

  it('forwards overridden requests to the parent', () => {
    const { a, configs, harness } = setUp();
    let asked = 0;
    const child = new SwitchingChild({
      host: harness.host,
      onStateChanged: () => {},
      requestReresolution: () => asked++,
    });
    const { context } = harness.completeUpdate({ config: configs.a, endpoints: err('') });
    child.update(configs.a, emptyEndpointSet, context);
    a.instance(0).host.requestReresolution();
    expect(asked).toBe(1);
    expect(harness.host.reresolutionRequests).toBe(0);
  });

  it('reports nothing after it was destroyed, and destroys both policies', () => {
    const { a, b, child, update, changes } = setUp();
    update('a');
    a.instance(0).reportReady('from a');
    update('b');
    child.destroy();
    child.destroy();
    expect(a.live).toHaveLength(0);
    expect(b.live).toHaveLength(0);
    b.instance(0).reportReady('late');
    expect(changes()).toBe(1);
    expect(child.state).toBe(CONNECTING);
  });

  it('passes exitIdle and resetBackoff to both policies', () => {
    const { a, b, child, update } = setUp();
    child.exitIdle();
    update('a');
    a.instance(0).report(READY);
    update('b');
    child.exitIdle();
    child.resetBackoff();
    expect([a.instance(0).exitIdleCalls, b.instance(0).exitIdleCalls]).toEqual([1, 1]);
    expect([a.instance(0).resetBackoffCalls, b.instance(0).resetBackoffCalls]).toEqual([1, 1]);
  });
});
