import { weightedTargetPolicy } from '../../../src/lb/weighted-target/balancer';
import { wrrLocalityPolicy } from '../../../src/lb/wrr-locality/balancer';
import { parseWrrLocalityConfig, WrrLocalityConfig } from '../../../src/lb/wrr-locality/config';
import { createLocalityTargets } from '../../../src/lb/wrr-locality/locality-targets';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { err, ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { LbHarness, makeEndpointSet, makeLocality, pickError } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';

const near = makeLocality('near', ['10.0.0.1:80'], 9);
const far = makeLocality('far', ['10.0.0.2:80'], 1);

function setUp() {
  const stub = new StubPolicyType();
  const harness = new LbHarness([weightedTargetPolicy, stub]);
  const policy = harness.create(wrrLocalityPolicy);
  const config = new WrrLocalityConfig({ policyName: 'stub' });
  const update = (...localities: (typeof near)[]) =>
    harness.updateEndpoints(policy, config, makeEndpointSet(...localities));
  return { stub, harness, policy, config, update };
}

describe('xds_wrr_locality', () => {
  it('distributes calls by locality weight', () => {
    const { stub, harness, update } = setUp();
    update(near, far);
    stub.instance(0).reportReady('near');
    stub.instance(1).reportReady('far');
    const picks = [0.89, 0.91].map((random) => {
      harness.random = random;
      return pickError(harness.last.picker);
    });
    expect(picks).toEqual(['near', 'far']);
  });

  it('updates only the locality whose endpoints changed', () => {
    const { stub, update } = setUp();
    update(near, far);
    update(makeLocality('near', ['10.0.0.3:80'], 9), far);
    expect(stub.instances.map(({ updates }) => updates.length)).toEqual([2, 1]);
    update({ ...near, weight: 1 }, far);
    expect(stub.instances.map(({ updates }) => updates.length)).toEqual([3, 1]);
  });

  it('gives an error to the calls when there never were localities', () => {
    const { harness, policy, config } = setUp();
    harness.update(policy, { config, endpoints: err('no such name') });
    expect(pickError(harness.last.picker)).toBe('no such name');
  });

  it('stays with the localities it has when an error follows', () => {
    const { stub, harness, policy, config, update } = setUp();
    update(near);
    stub.instance(0).reportReady('near');
    harness.update(policy, { config, endpoints: err('no such name') });
    expect(pickError(harness.last.picker)).toBe('near');
    expect(stub.instance(0).lastUpdate.endpoints).toEqual(ok(makeEndpointSet(near)));
  });

  it('fails calls while there are no localities, and recovers', () => {
    const { stub, harness, policy, config, update } = setUp();
    update(near);
    stub.instance(0).reportReady('near');
    const endpoints = ok(makeEndpointSet());
    harness.update(policy, { config, endpoints });
    expect(pickError(harness.last.picker)).toBe('There are no localities to choose from');
    update(near);
    expect(pickError(harness.last.picker)).toBe('near');
  });
});

describe('parseWrrLocalityConfig', () => {
  const registry = new LbPolicyRegistry({ policies: [new StubPolicyType()] });

  it('reads the child policy', () => {
    const json = { childPolicy: [{ stub: {} }] };
    const config = parseWrrLocalityConfig(json, Violations.root(), registry);
    expect(config?.childPolicy.policyName).toBe('stub');
  });

  it.each([
    [null, 'must be an object'],
    [{}, 'childPolicy: must be a list of load-balancing policies'],
    [{ childPolicy: [] }, 'childPolicy: names no load-balancing policy'],
  ])('refuses %j', (json, violation) => {
    const violations = Violations.root();
    expect(parseWrrLocalityConfig(json, violations, registry)).toBeUndefined();
    expect(violations.all).toEqual([violation]);
  });
});

describe('createLocalityTargets', () => {
  const childPolicy = { policyName: 'stub' };
  const NEAR = '{region="near", zone="", sub_zone=""}';

  it('uses the first of two entries for a locality, and reports if their weights differ', () => {
    const again = makeLocality('near', ['10.0.0.9:80'], 2);
    const same = makeLocality('near', ['10.0.0.8:80'], 9);
    const set = makeEndpointSet(near, again, same);
    const result = createLocalityTargets(set, childPolicy, undefined);
    expect(result.config.targets).toEqual(new Map([[NEAR, { weight: 9, childPolicy }]]));
    expect(result.endpoints.children?.get(NEAR)).toEqual(makeEndpointSet(near));
    expect(result.conflicts).toEqual([NEAR]);
  });
});
