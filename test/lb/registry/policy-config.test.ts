import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { XxHash64 } from '../../../src/util/hashes';
import { createPolicyRegistry } from '../../../src/lb/registry/create-policy-registry';
import { createCustomPolicyType } from '../../../src/lb/custom/balancer';
import { RootConfig } from '../../../src/lb/tree/grpc-js-root';
import { policyToJson } from '../../../src/lb/registry/policy-config';
import type { LbConfig } from '../../../src/resources/extension-points';
import { formatDurationString, parseDurationString } from '../../../src/util/duration';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { silentLogger } from '../../../src/util/logger';
import { Violations } from '../../../src/util/violations';
import { FakeClock } from '../../support/fake-clock';

const registry = createPolicyRegistry({
  clock: new FakeClock(),
  random: () => 0,
  logger: silentLogger,
  flags: readFeatureFlags({ GRPC_EXPERIMENTAL_WRR_CUSTOM_METRICS: 'true' }),
  hash: new XxHash64(),
  limits: DEFAULT_LIMITS,
});

function parse(json: unknown): LbConfig {
  const violations = Violations.root();
  const config = registry.fromJson([json], violations);
  if (config === undefined) throw new Error(violations.all.join('; '));
  return config;
}

const childPolicy = [{ least_request_experimental: { choiceCount: 4 } }];
const weightedRoundRobin = {
  enableOobLoadReport: true,
  oobReportingPeriod: '7s',
  blackoutPeriod: '1.001s',
  weightExpirationPeriod: '60s',
  weightUpdatePeriod: '0.25s',
  errorUtilizationPenalty: 0.5,
  metricNamesForComputingUtilization: ['named_metrics.foo'],
};
const gate = { enforcementPercentage: 90, minimumHosts: 3, requestVolume: 20 };
const outlierDetection = {
  interval: '3s',
  baseEjectionTime: '20s',
  maxEjectionTime: '200s',
  maxEjectionPercent: 33,
  successRateEjection: { stdevFactor: 1000, ...gate },
  failurePercentageEjection: { threshold: 70, ...gate },
  childPolicy,
};

/** A config of each policy, with no field at its default. */
const CONFIGS: Readonly<Record<string, object>> = {
  xds_cluster_manager_experimental: {
    children: { 'cluster:a': { childPolicy }, 'cluster:b': { childPolicy: [{ pick_first: {} }] } },
  },
  cds_experimental: { cluster: 'c', isDynamic: true },
  xds_cluster_impl_experimental: {
    cluster: 'c',
    edsServiceName: 's',
    maxConcurrentRequests: 7,
    dropCategories: [{ category: 'x', requestsPerMillion: 5 }],
    childPolicy,
  },
  priority_experimental: {
    children: {
      p1: { config: childPolicy, ignoreReresolutionRequests: true },
      p0: { config: [{ round_robin: {} }], ignoreReresolutionRequests: false },
    },
    priorities: ['p1', 'p0'],
  },
  xds_wrr_locality_experimental: { childPolicy },
  weighted_target_experimental: { targets: { a: { weight: 3, childPolicy } } },
  outlier_detection_experimental: outlierDetection,
  outlier_detection: outlierDetection,
  xds_override_host_experimental: {
    clusterName: 'c',
    overrideHostStatus: ['DRAINING', 'HEALTHY'],
    connectionIdleTimeout: '90s',
    childPolicy,
  },
  round_robin: {},
  pick_first: { shuffleAddressList: true },
  random_subsetting_experimental: { subsetSize: 5, childPolicy },
  ring_hash_experimental: { minRingSize: 5, maxRingSize: 50, requestHashHeader: 'user' },
  least_request_experimental: { choiceCount: 3 },
  weighted_round_robin: weightedRoundRobin,
  weighted_round_robin_experimental: weightedRoundRobin,
};

describe('the JSON of a config', () => {
  it('is tested for every policy', () => {
    const names = Array.from(registry.registered(), ({ name }) => name);
    expect(Object.keys(CONFIGS).sort()).toEqual(names.sort());
  });

  it.each(Object.entries(CONFIGS))('has the whole config of %s', (name, json) => {
    const config = parse({ [name]: json });
    const written = policyToJson(config);
    expect(Object.keys(written)).toEqual([name]);
    expect(written[name]).toMatchObject(json);
    const again = parse(JSON.parse(JSON.stringify(written)));
    expect(policyToJson(again)).toEqual(written);
    // Functions made from the settings are no part of what is compared.
    expect(JSON.stringify(again)).toBe(JSON.stringify(config));
    expect(again.constructor).toBe(config.constructor);
  });

  it('is what grpc-js reads from a config of ours', () => {
    const json = { ring_hash_experimental: CONFIGS['ring_hash_experimental'] };
    expect(new RootConfig(parse(json)).toJsonObject()).toEqual(json);
  });

  it('is empty for a config without anything to configure', () => {
    expect(policyToJson({ policyName: 'stub' })).toEqual({ stub: {} });
  });

  it('is the given JSON for a policy of the application', () => {
    const { policy } = createCustomPolicyType({
      name: 'acme.custom',
      parseConfig: () => 'parsed',
      create: () => ({ update() {}, onConnectionChanged() {} }),
    });
    const config = policy.parseConfig({ size: 3 }, Violations.root(), registry);
    expect(config && policyToJson(config)).toEqual({ 'acme.custom': { size: 3 } });
  });
});

describe('a duration', () => {
  it.each([0, 1, 1.5, 1000, 1001, 90_000, 0.000001, 315_576_000_000_000])(
    'of %s ms is parsed to what it was',
    (ms) => {
      expect(parseDurationString(formatDurationString(ms))).toBe(ms);
    },
  );
});
