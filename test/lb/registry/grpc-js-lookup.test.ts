import { GrpcJsConfig } from '../../../src/lb/grpc-js-policy/balancer';
import { grpcJsPolicyLookup } from '../../../src/lb/registry/create-policy-registry';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { Violations } from '../../../src/util/violations';

const registry = new LbPolicyRegistry({
  policies: [],
  fallback: grpcJsPolicyLookup,
});

describe('grpcJsPolicyLookup', () => {
  it('finds what is registered with grpc-js', () => {
    expect(grpcJsPolicyLookup.get('round_robin')?.name).toBe('round_robin');
  });

  it.each(['unknown', 'constructor', '__proto__', 'toString'])('does not find %s', (name) => {
    expect(grpcJsPolicyLookup.get(name)).toBeUndefined();
  });

  it('parses configs as the policy itself does', () => {
    const json = [{ unknown: {} }, { pick_first: { shuffleAddressList: true } }];
    const config = registry.fromJson(json, Violations.root());
    expect(config).toBeInstanceOf(GrpcJsConfig);
    expect(config instanceof GrpcJsConfig ? config.typedConfig.toJsonObject() : undefined).toEqual({
      pick_first: { shuffleAddressList: true },
    });
  });

  it.each([
    [
      [{ pick_first: { shuffleAddressList: 1 } }],
      '[0].pick_first: pick_first: pick_first config field shuffleAddressList must be a boolean if provided',
    ],
    [[{ pick_first: null }], '[0].pick_first: must be an object'],
  ])('refuses %j', (json, violation) => {
    const violations = Violations.root();
    expect(registry.fromJson(json, violations)).toBeUndefined();
    expect(violations.all).toEqual([violation]);
  });
});
