import { createPolicyRegistry } from '../../../src/lb/registry/create-policy-registry';
import { shareAt, SlowStart } from '../../../src/lb/slow-start/slow-start';
import type { SlowStartConfig } from '../../../src/lb/slow-start/config';
import type { LbConfig } from '../../../src/resources/extension-points';
import { createResourceTypes } from '../../../src/resources/resource-types';
import { createEnvironment } from '../../../src/runtime/built-in-parts';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { decodeBytes, encode, extensions } from '../../resources/decode-json';
import { FakeClock } from '../../support/fake-clock';
import { LbHarness, pickAddress, singleLocality } from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';
import { edsClusterJson, type Json } from '../../support/xds-json';

const ADDRESSES = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80', '10.0.0.4:80'] as const;
const [A, , , NEW] = ADDRESSES;
const WINDOW_MS = 60_000;
const DRAWN = 20_000;

function registryWith(envoyFeatures: boolean, clock = new FakeClock()) {
  const flags = readFeatureFlags({ GRPC_XDS_NODE_ENVOY_FEATURES: String(envoyFeatures) });
  return createPolicyRegistry(createEnvironment({ flags, clock }));
}

/** The policy of a locality of a cluster, or the violations. */
function policyOf(cluster: Json, envoyFeatures = true): unknown {
  const lbConfigs = registryWith(envoyFeatures);
  const types = createResourceTypes({ ...extensions, lbConfigs, envoyFeatures });
  const bytes = encode(types.cluster, edsClusterJson('c', cluster));
  const { result: parsed } = decodeBytes(types.cluster, bytes);
  if (!parsed.ok) return parsed.error;
  const config: LbConfig & { readonly childPolicy?: unknown } = parsed.value.lbConfig;
  return config.childPolicy ?? config;
}

const slowStart = (changed: Json = {}): Json => ({
  slow_start_config: { slow_start_window: '60s', ...changed },
});

const listOf = (type: string, config: Json): Json => ({
  load_balancing_policy: {
    policies: [
      {
        typed_extension_config: {
          name: 'label',
          typed_config: {
            '@type': `type.googleapis.com/envoy.extensions.load_balancing_policies.${type}`,
            ...config,
          },
        },
      },
    ],
  },
});

/** Each way to configure it. */
const WAYS: readonly (readonly [string, (config: Json) => Json])[] = [
  ['round_robin_lb_config', (config) => ({ round_robin_lb_config: config })],
  [
    'least_request_lb_config',
    (config) => ({ lb_policy: 'LEAST_REQUEST', least_request_lb_config: config }),
  ],
  ['RoundRobin', (config) => listOf('round_robin.v3.RoundRobin', config)],
  ['LeastRequest', (config) => listOf('least_request.v3.LeastRequest', config)],
  [
    'ClientSideWeightedRoundRobin',
    (config) => listOf('client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin', config),
  ],
];

function slowStartOf(policy: unknown): unknown {
  const { slowStart: own, settings } = policy as {
    readonly slowStart?: SlowStartConfig;
    readonly settings?: { readonly slowStart?: SlowStartConfig };
  };
  return own ?? settings?.slowStart;
}

describe.each(WAYS)('slow start in %s', (way, clusterWith) => {
  it('has the defaults of Envoy', () => {
    expect(slowStartOf(policyOf(clusterWith(slowStart())))).toEqual({
      windowMs: WINDOW_MS,
      aggression: 1,
      minShare: 0.1,
    });
  });

  it('takes its settings', () => {
    const settings = { aggression: { default_value: 2 }, min_weight_percent: { value: 5 } };
    expect(slowStartOf(policyOf(clusterWith(slowStart(settings))))).toEqual({
      windowMs: WINDOW_MS,
      aggression: 2,
      minShare: 0.05,
    });
  });

  it.each<[Json, RegExp]>([
    [{ aggression: { default_value: 0 } }, /must be a finite number greater than 0, not 0/],
    [{ min_weight_percent: { value: 101 } }, /must be from 0 to 100, not 101/],
    [{ slow_start_window: '-1s' }, /must be/],
  ])('is rejected with %j', (changed, reason) => {
    const violations = policyOf(clusterWith(slowStart(changed)));
    expect(violations).toEqual([expect.stringMatching(reason)]);
  });

  it('is off without a window', () => {
    expect(slowStartOf(policyOf(clusterWith({ slow_start_config: {} })))).toBeUndefined();
    expect(slowStartOf(policyOf(clusterWith({})))).toBeUndefined();
  });

  it('is not read without the features of Envoy', () => {
    const policy = policyOf(clusterWith(slowStart({ min_weight_percent: { value: 101 } })), false);
    expect(slowStartOf(policy)).toBeUndefined();
    expect(JSON.stringify(policy)).toBe(JSON.stringify(policyOf(clusterWith({}), false)));
  });

  /** Three endpoints that are READY for long, and a new one. */
  function scene(config: Json) {
    const clusterConfig = policyOf(clusterWith(config)) as LbConfig;
    const harness = new LbHarness();
    const registry = registryWith(true, harness.clock);
    const type = registry.get(clusterConfig.policyName);
    if (type === undefined) throw new Error('No policy');
    harness.random = seededRandom(way.length);
    const policy = harness.create(type);
    const update = (given: Json) =>
      harness.updateEndpoints(
        policy,
        policyOf(clusterWith(given)) as LbConfig,
        singleLocality(...ADDRESSES),
      );
    harness.updateEndpoints(policy, clusterConfig, singleLocality(...ADDRESSES));
    for (const address of ADDRESSES.slice(0, 3)) harness.subchannel(address).connect();
    harness.clock.advance(2 * WINDOW_MS);
    harness.subchannel(NEW).connect();
    /** How often the new one is picked. */
    const share = () => {
      let picked = 0;
      for (let i = 0; i < DRAWN; i++) {
        if (pickAddress(harness.last.picker) === NEW) picked++;
        // In one turn, least_request would count picks like calls.
        harness.clock.advance(0);
      }
      return picked / DRAWN;
    };
    return { harness, update, share };
  }

  /** Within 3 standard deviations of what is expected. */
  function expectShare(share: number, factor: number): void {
    const expected = factor / (3 + factor);
    const deviation = Math.sqrt((expected * (1 - expected)) / DRAWN);
    expect(Math.abs(share - expected)).toBeLessThan(3 * deviation);
  }

  it('gives a new endpoint a share that grows by the formula', () => {
    const { harness, share } = scene(slowStart());
    expectShare(share(), 0.1);
    harness.clock.advance(15_000);
    expectShare(share(), 0.25);
    harness.clock.advance(15_000);
    expectShare(share(), 0.5);
    harness.clock.advance(30_000);
    expectShare(share(), 1);
  });

  it('begins again when the endpoint has lost its connection, and not otherwise', async () => {
    const { harness, share } = scene(slowStart());
    harness.clock.advance(WINDOW_MS);
    expectShare(share(), 1);
    harness.subchannel(NEW).disconnect();
    await harness.settle();
    harness.subchannel(NEW).connect();
    expectShare(share(), 0.1);
  });

  it('follows changes of the configuration', () => {
    const { harness, share, update } = scene(slowStart());
    update({});
    expectShare(share(), 1);
    update(slowStart({ min_weight_percent: { value: 50 } }));
    expectShare(share(), 0.5);
    harness.clock.advance(2 * WINDOW_MS);
    expectShare(share(), 1);
  });

  it('uses all endpoints while all are new', () => {
    const { harness, share } = scene(slowStart({ min_weight_percent: { value: 0 } }));
    for (const address of ADDRESSES.slice(0, 3)) harness.subchannel(address).disconnect();
    harness.clock.advance(2 * WINDOW_MS);
    for (const address of ADDRESSES) harness.subchannel(address).disconnect();
    harness.clock.flush();
    for (const address of ADDRESSES) harness.subchannel(address).connect();
    expectShare(share(), 1);
  });
});

describe('the share of an endpoint', () => {
  const config = { windowMs: 100_000, aggression: 1, minShare: 0.1 };
  it.each([
    [0, config, 0.1],
    [20_000, config, 0.2],
    [99_000, config, 0.99],
    [0, { ...config, minShare: 0 }, 0.01],
    [25_000, { ...config, aggression: 2 }, 0.5],
    [50_000, { ...config, aggression: 0.5 }, 0.25],
    [0, { ...config, windowMs: 500 }, 2],
  ])('after %d ms of %j is %d', (ageMs, given, expected) => {
    expect(shareAt(ageMs, given)).toBeCloseTo(expected, 10);
  });

  it('is full on another connection to the same endpoint, and for endpoints that were not seen to become READY', () => {
    const clock = new FakeClock();
    const slow = new SlowStart<string>(clock, () => 0.99);
    slow.config = config;
    slow.onReady(A);
    const next = (...given: string[]) => slow.choose(() => given.shift());
    expect(next(A, 'other')).toBe('other');
    clock.advance(100_000);
    expect(next(A, 'other')).toBe(A);
    slow.onReady(A);
    expect(next(A, 'other')).toBe(A);
  });
});
