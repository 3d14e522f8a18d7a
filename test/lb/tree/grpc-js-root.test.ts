import {
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  ConnectivityState,
  Metadata,
  parseLoadBalancingConfig,
  Status,
  statusOrFromError,
  statusOrFromValue,
  type GrpcEndpoint,
  type StatusOr,
} from '../../../src/grpc-js';
import { createFailurePicker } from '../../../src/lb/connectivity';
import { GrpcJsRoot, RootConfig } from '../../../src/lb/tree/grpc-js-root';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { registerRegistry } from '../../support/register-registry';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { weightedTargetPolicy } from '../../../src/lb/weighted-target/balancer';
import { WeightedTargetConfig } from '../../../src/lb/weighted-target/config';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { wrrLocalityPolicy } from '../../../src/lb/wrr-locality/balancer';
import { WrrLocalityConfig } from '../../../src/lb/wrr-locality/config';
import { xdsLbContextArg } from '../../../src/lb/lb-policy';
import { err } from '../../../src/util/result';
import { LbHarness, pickError } from '../../support/lb-harness';
import { lbContext } from '../../support/lb-xds-config';
import { StubPolicyType } from '../../support/lb-stub-policy';

const { CONNECTING, IDLE, READY } = ConnectivityState;

const config = new RootConfig({ policyName: 'stub' });

function list(...hosts: string[]): StatusOr<GrpcEndpoint[]> {
  return statusOrFromValue<GrpcEndpoint[]>(
    hosts.map((host) => ({ addresses: [{ host, port: 80 }] })),
  );
}

function setUp() {
  const stub = new StubPolicyType();
  const harness = new LbHarness([roundRobinPolicy]);
  const root = new GrpcJsRoot(stub, harness.host, harness.environment);
  return { stub, harness, root };
}

describe('GrpcJsRoot', () => {
  it('hands on endpoints and options', () => {
    const { stub, root } = setUp();
    const options = { 'grpc.keepalive_time_ms': 1000, [CHANNEL_ARGS_CONFIG_SELECTOR_KEY]: {} };
    expect(root.updateAddressList(list('10.0.0.1'), config, options, '')).toBe(true);
    const { lastUpdate } = stub.instance(0);
    expect(lastUpdate.config).toBe(config.config);
    expect(lastUpdate.endpoints.ok && lastUpdate.endpoints.value.localities.length).toBe(1);
    expect(lastUpdate.options).toEqual({ 'grpc.keepalive_time_ms': 1000 });
    expect(lastUpdate.xds).toBeUndefined();
  });

  it('adds the resolution note to errors, and follows its changes', () => {
    const { stub, harness, root } = setUp();
    const update = (note: string) => root.updateAddressList(list('10.0.0.1'), config, {}, note);
    update('DNS is stale');
    harness.batch.run(() => stub.instance(0).reportFailure('refused'));
    const errors = () => [pickError(harness.last.picker), harness.last.errorMessage];
    const text = 'refused. Resolution note: DNS is stale';
    expect(errors()).toEqual([text, text]);
    update('');
    expect(errors()).toEqual(['refused', 'refused']);
    // A picker may fail calls in another state, too.
    harness.batch.run(() => {
      stub.instance(0).host.updateState(READY, createFailurePicker('gone'), null);
    });
    update('DNS is stale');
    expect(pickError(harness.last.picker)).toBe('gone. Resolution note: DNS is stale');
  });

  it('keeps the identity of what does not change', () => {
    const { stub, root } = setUp();
    for (const selector of [{}, {}]) {
      const options = { a: 1, [CHANNEL_ARGS_CONFIG_SELECTOR_KEY]: selector };
      root.updateAddressList(list('10.0.0.1'), config, options, '');
    }
    const [first, second] = stub.instance(0).updates;
    expect(second?.options).toBe(first?.options);
    expect(second?.endpoints.ok && second.endpoints.value).toBe(
      first?.endpoints.ok && first.endpoints.value,
    );
  });

  it('hands on the xds context', () => {
    const { stub, root } = setUp();
    const context = lbContext({});
    root.updateAddressList(list(), config, { ...xdsLbContextArg(context) }, '');
    expect(stub.instance(0).lastUpdate.xds).toBe(context);
    expect(stub.instance(0).lastUpdate.options).toEqual({});
  });

  it('hands on an error of the resolver, and accepts the update', () => {
    const { stub, root } = setUp();
    const error = { code: Status.UNAVAILABLE, details: 'no such name', metadata: new Metadata() };
    expect(root.updateAddressList(statusOrFromError(error), config, {}, '')).toBe(true);
    expect(stub.instance(0).lastUpdate.endpoints).toEqual(err('no such name'));
  });

  it('refuses the config of another kind of policy', () => {
    const { stub, root } = setUp();
    const foreign = parseLoadBalancingConfig({ pick_first: {} });
    expect(root.updateAddressList(list(), foreign, {}, '')).toBe(false);
    expect(stub.instance(0).updates).toEqual([]);
  });

  it('reports nothing to the channel once destroyed', () => {
    const { stub, harness, root } = setUp();
    root.updateAddressList(list('10.0.0.1'), config, {}, '');
    stub.instance(0).report(CONNECTING);
    root.destroy();
    stub.instance(0).report(READY);
    stub.instance(0).host.requestReresolution();
    expect(stub.instance(0).destroyed).toBe(true);
    expect(harness.host.published.map(({ state }) => state)).toEqual([CONNECTING]);
    expect(harness.host.reresolutionRequests).toBe(0);
  });

  it('may be destroyed by the channel while a picker is published', () => {
    const harness = new LbHarness();
    const root = new GrpcJsRoot(roundRobinPolicy, harness.host, harness.environment);
    harness.host.onPublished = () => root.destroy();
    const roundRobin = new RootConfig(new RoundRobinConfig());
    root.updateAddressList(list('10.0.0.1'), roundRobin, {}, '');
    expect(harness.host.published.length).toBe(1);
    expect(harness.host.held.length).toBe(0);
  });

  it('logs an exception as a bug of the policy', () => {
    const logged: string[] = [];
    const { stub, harness } = setUp();
    const root = new GrpcJsRoot(stub, harness.host, {
      ...harness.environment,
      logger: { trace() {}, info() {}, error: (text) => logged.push(text()) },
    });
    stub.instance(1).update = () => {
      throw new Error('boom');
    };
    expect(root.updateAddressList(list(), config, {}, '')).toBe(true);
    expect(logged.length).toBe(1);
    expect(logged[0]).toMatch(/^Bug in load-balancing policy stub: Error: boom\n/);
  });

  it('passes on resetBackoff', () => {
    const { stub, root } = setUp();
    root.resetBackoff();
    expect(stub.instance(0).resetBackoffCalls).toBe(1);
    expect(root.getTypeName()).toBe('stub');
  });

  it('forwards exitIdle when no call connects', () => {
    const { stub, harness, root } = setUp();
    for (let i = 0; i < 3; i++) root.exitIdle();
    expect(stub.instance(0).exitIdleCalls).toBe(0);
    harness.clock.advance(1);
    expect(stub.instance(0).exitIdleCalls).toBe(1);
    root.exitIdle();
    harness.clock.advance(1);
    expect(stub.instance(0).exitIdleCalls).toBe(2);
  });

  it('does not forward exitIdle when a call has connected', () => {
    const { stub, harness, root } = setUp();
    root.exitIdle();
    stub.instance(0).report(CONNECTING);
    harness.clock.advance(1);
    root.exitIdle();
    harness.clock.advance(1);
    expect(stub.instance(0).exitIdleCalls).toBe(0);
  });

  it('leaves IDLE after the first update: the channel does not repeat its request', () => {
    const { stub, harness, root } = setUp();
    root.updateAddressList(list('10.0.0.1'), config, {}, '');
    stub.instance(0).report(IDLE);
    harness.clock.advance(1);
    expect(stub.instance(0).exitIdleCalls).toBe(1);
    root.updateAddressList(list('10.0.0.2'), config, {}, '');
    harness.clock.advance(1);
    expect(stub.instance(0).exitIdleCalls).toBe(1);
  });

  it('leaves no timer behind', () => {
    const { stub, harness, root } = setUp();
    root.exitIdle();
    root.destroy();
    expect(harness.clock.pendingTimers).toBe(0);
    expect(stub.instance(0).exitIdleCalls).toBe(0);
  });
});

describe('registerLbPolicies', () => {
  const harness = new LbHarness();
  const registry = new LbPolicyRegistry({
    policies: [
      roundRobinPolicy,
      wrrLocalityPolicy,
      weightedTargetPolicy,
      ...outlierDetectionPolicies.slice(0, 1),
    ],
  });
  const taken = registerRegistry(registry, () => harness.environment);

  it('leaves the policies of grpc-js alone', () => {
    expect(taken).toEqual(['round_robin']);
    expect(parseLoadBalancingConfig({ round_robin: {} })).not.toBeInstanceOf(RootConfig);
  });

  it('reports every name the second time', () => {
    const again = registerRegistry(registry, () => harness.environment);
    expect(again).toEqual(Array.from(registry.registered(), ({ name }) => name));
  });

  it('parses JSON configs for grpc-js', () => {
    const json = { childPolicy: [{ round_robin: {} }] };
    const parsed = parseLoadBalancingConfig({ xds_wrr_locality_experimental: json });
    const expected = new WrrLocalityConfig(new RoundRobinConfig());
    expect(parsed).toEqual(new RootConfig(expected, json));
    expect(parsed.getLoadBalancerName()).toBe('xds_wrr_locality_experimental');
    expect(parsed.toJsonObject()).toEqual({ xds_wrr_locality_experimental: json });
  });

  it('takes a parsed config as it is', () => {
    const parsed = new WeightedTargetConfig(new Map());
    const result = parseLoadBalancingConfig({ weighted_target_experimental: parsed });
    expect(result instanceof RootConfig ? result.config : undefined).toBe(parsed);
  });

  it('does not take JSON for a parsed config', () => {
    const json = { policyName: 'xds_wrr_locality_experimental', childPolicy: 1 };
    expect(() => parseLoadBalancingConfig({ xds_wrr_locality_experimental: json })).toThrow(
      'xds_wrr_locality_experimental: childPolicy: must be a list of load-balancing policies',
    );
  });

  it('throws with everything that is wrong', () => {
    const childPolicy = [{ outlier_detection_experimental: { interval: 1 } }];
    expect(() =>
      parseLoadBalancingConfig({ xds_wrr_locality_experimental: { childPolicy } }),
    ).toThrow(
      'xds_wrr_locality_experimental: ' +
        'childPolicy[0].outlier_detection_experimental.interval: must be a duration that is not negative, such as "1.5s"; ' +
        'childPolicy[0].outlier_detection_experimental.childPolicy: must be a list of load-balancing policies',
    );
  });

  it('takes no JSON for a policy whose configs the client creates', () => {
    expect(() => parseLoadBalancingConfig({ weighted_target_experimental: {} })).toThrow(
      'weighted_target_experimental: only the client creates the configs of this policy',
    );
  });
});
