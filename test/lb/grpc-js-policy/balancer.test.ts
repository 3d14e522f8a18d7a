import { GrpcJsConfig } from '../../../src/lb/grpc-js-policy/balancer';
import { grpcJsPolicyLookup } from '../../../src/lb/registry/create-policy-registry';
import { ConnectivityState, parseLoadBalancingConfig } from '../../../src/grpc-js';
import { belowParent } from '../../../src/testing/subject';
import { err, ok } from '../../../src/util/result';
import { LbHarness, pick, pickAddress, pickError, singleLocality } from '../../support/lb-harness';

// grpc-js's own policies do not keep the whole contract, which is why this package has its own. What is
// tested here is the adapter.

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';

function makeConfig(name: string): GrpcJsConfig {
  return new GrpcJsConfig(name, parseLoadBalancingConfig({ [name]: {} }));
}

function setUp(name = 'round_robin') {
  const harness = new LbHarness();
  const type = grpcJsPolicyLookup.get(name);
  if (type === undefined) throw new Error(`grpc-js has no policy ${name}`);
  const policy = harness.create(type);
  return { harness, policy, type, config: makeConfig(name) };
}

describe('a policy of grpc-js', () => {
  it('serves the endpoints of all localities', () => {
    const { harness, policy, config } = setUp();
    harness.updateEndpoints(policy, config, singleLocality(A, B));
    harness.subchannel(A).connect();
    harness.subchannel(B).connect();
    expect(harness.last.state).toBe(ConnectivityState.READY);
    const picks = [1, 2].map(() => pickAddress(harness.last.picker));
    expect(picks.sort()).toEqual([A, B]);
  });

  it('does not receive an unchanged update', () => {
    const { harness, type, config } = setUp();
    const policy = harness.create(belowParent(type));
    const endpoints = singleLocality(A, B);
    harness.updateEndpoints(policy, config, endpoints);
    const before = harness.host.created.length;
    harness.updateEndpoints(policy, config, endpoints);
    expect(harness.host.created.length).toBe(before);
  });

  it('is given errors', () => {
    const { harness, policy, config } = setUp();
    harness.update(policy, { config, endpoints: err('no such name') });
    expect(pickError(harness.last.picker)).toBe('no such name');
    const endpoints = ok(singleLocality(A));
    harness.update(policy, { config, endpoints });
    harness.subchannel(A).fail('connection refused');
    const { errorMessage, picker } = harness.last;
    for (const text of [pickError(picker), errorMessage ?? '']) {
      expect(text).toContain('connection refused');
      expect(text).not.toContain('Resolution note');
    }
  });

  it('reports nothing once destroyed', async () => {
    const { harness, policy, config } = setUp('pick_first');
    harness.updateEndpoints(policy, config, singleLocality(A));
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    const { picker } = harness.last;
    harness.batch.run(() => policy.destroy());
    const { host } = harness;
    const before = [host.published.length, host.created.length];
    // The picker of an idle pick_first would have it connect.
    pick(picker);
    policy.exitIdle();
    policy.resetBackoff();
    await harness.settle();
    expect([host.published.length, host.created.length]).toEqual(before);
    expect(host.held.length).toBe(0);
    expect(host.channelzChildCount).toBe(0);
  });

  it('connects when a call is picked while it is IDLE', async () => {
    const { harness, policy, config } = setUp('pick_first');
    harness.updateEndpoints(policy, config, singleLocality(A));
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    expect(harness.last.state).toBe(ConnectivityState.IDLE);
    pick(harness.last.picker);
    await harness.settle();
    expect(harness.last.state).toBe(ConnectivityState.CONNECTING);
  });
});
