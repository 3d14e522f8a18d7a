import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { CdsConfig } from '../../src/lb/cds/config';
import { createClusterImplPolicyType } from '../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig } from '../../src/lb/cluster-impl/config';
import { clusterManagerPolicy } from '../../src/lb/cluster-manager/balancer';
import { ClusterManagerConfig } from '../../src/lb/cluster-manager/config';
import { createCustomPolicyType } from '../../src/lb/custom/balancer';
import { emptyEndpointSet, type EndpointSet } from '../../src/lb/endpoints/endpoint-set';
import type { LbPolicyType } from '../../src/lb/lb-policy';
import { leastRequestPolicy } from '../../src/lb/least-request/balancer';
import { LeastRequestConfig } from '../../src/lb/least-request/config';
import { outlierDetectionPolicies } from '../../src/lb/outlier-detection/balancer';
import { OutlierDetectionLbConfig } from '../../src/lb/outlier-detection/config';
import { overrideHostPolicy } from '../../src/lb/override-host/balancer';
import { OverrideHostConfig } from '../../src/lb/override-host/config';
import { createPickFirstPolicyType } from '../../src/lb/pick-first/balancer';
import { PickFirstConfig } from '../../src/lb/pick-first/config';
import { PriorityConfig } from '../../src/lb/priority/config';
import { createRandomSubsettingPolicyType } from '../../src/lb/random-subsetting/balancer';
import { RandomSubsettingConfig } from '../../src/lb/random-subsetting/config';
import { createMaglevPolicyType } from '../../src/lb/maglev/balancer';
import { createRingHashPolicyType } from '../../src/lb/ring-hash/balancer';
import { RingHashConfig } from '../../src/lb/ring-hash/config';
import { roundRobinPolicy } from '../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../src/lb/round-robin/config';
import { createWeightedRoundRobinPolicyTypes } from '../../src/lb/weighted-round-robin/balancer';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
} from '../../src/lb/weighted-round-robin/config';
import { weightedTargetPolicy } from '../../src/lb/weighted-target/balancer';
import { WeightedTargetConfig } from '../../src/lb/weighted-target/config';
import { wrrLocalityPolicy } from '../../src/lb/wrr-locality/balancer';
import { WrrLocalityConfig } from '../../src/lb/wrr-locality/config';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type { XdsEndpoint } from '../../src/resources/endpoints/endpoints';
import type { LbConfig } from '../../src/resources/extension-points';
import { belowParent } from '../../src/testing/subject';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { XxHash64 } from '../../src/util/hashes';
import { ok } from '../../src/util/result';
import { Violations } from '../../src/util/violations';
import { describeLbPolicyContract, type LbPolicyContract } from '../contract/lb-policy-contract';
import { FakeClock } from '../support/fake-clock';
import { makeEndpointSet, makeLocality, singleLocality } from '../support/lb-harness';
import { cdsPolicy, priorityPolicy } from '../support/lb-policies';
import { aggregateOf, lbContext, leafOf } from '../support/lb-xds-config';
import { whenReady } from '../support/ready-hash';
import { aggregateCluster, dnsCluster } from '../support/xds-builders';
import { turns } from './custom/support';
import { detectionWith, failurePercentage } from './outlier-detection/detection';
import { RecordingReportSource } from './weighted-round-robin/recording-report-source';

const hash = XxHash64.start();
beforeAll(() => whenReady(hash));

const roundRobin = new RoundRobinConfig();

interface Subject extends Partial<LbPolicyContract> {
  readonly type: LbPolicyType;
  readonly config: LbConfig;
  /** The set that has the endpoints; one locality by default. */
  readonly endpointsOf?: (endpoints: readonly XdsEndpoint[]) => EndpointSet;
}

/** Most policies connect at once, and use every endpoint. */
function describeContract(name: string, subject: Subject): void {
  const {
    config,
    endpointsOf = (endpoints) => singleLocality(...endpoints),
    ...contract
  } = subject;
  describeLbPolicyContract({
    name,
    policies: [roundRobinPolicy],
    connectsAtOnce: true,
    usesEveryEndpoint: true,
    makeUpdate: (endpoints) => ({
      config,
      endpoints: endpoints.ok ? ok(endpointsOf(endpoints.value)) : endpoints,
    }),
    ...contract,
  });
}

describeContract('round_robin', { type: roundRobinPolicy, config: roundRobin });
describeContract('least_request', {
  type: leastRequestPolicy,
  config: new LeastRequestConfig(2),
});
describeContract('random_subsetting', {
  type: createRandomSubsettingPolicyType({ hash }),
  config: new RandomSubsettingConfig(1000, roundRobin),
});
describeContract('wrr_locality over weighted_target over round_robin', {
  type: wrrLocalityPolicy,
  config: new WrrLocalityConfig(roundRobin),
  policies: [weightedTargetPolicy, roundRobinPolicy],
  endpointsOf: (endpoints) =>
    makeEndpointSet(
      makeLocality('near', endpoints.slice(0, 2), 9),
      makeLocality('far', endpoints.slice(2), 1),
    ),
});
describeContract('cluster_manager over round_robin', {
  type: clusterManagerPolicy,
  config: new ClusterManagerConfig(new Map([['cluster:c', roundRobin]])),
  attributes: { cluster: 'cluster:c' },
});

for (const isShuffled of [false, true]) {
  describeContract(`pick_first${isShuffled ? ', shuffled' : ''}`, {
    type: createPickFirstPolicyType({ flags: { weightedShuffling: true } }),
    config: new PickFirstConfig(isShuffled),
    usesEveryEndpoint: false,
  });
}

for (const enableOobLoadReport of [false, true]) {
  const config = new WeightedRoundRobinConfig({ ...DEFAULT_SETTINGS, enableOobLoadReport });
  const oobReports = new RecordingReportSource();
  const types = createWeightedRoundRobinPolicyTypes({ oobReports, customMetrics: true });
  for (const type of enableOobLoadReport ? types.slice(0, 1) : types) {
    const reports = enableOobLoadReport ? ' with reports out of band' : '';
    describeContract(`${type.name}${reports}`, { type, config });
  }
}

const ringHash = createRingHashPolicyType({
  hash,
  flags: readFeatureFlags({}),
  limits: DEFAULT_LIMITS,
});
const ringHashConfig = new RingHashConfig({
  minRingSize: 1024,
  maxRingSize: 4096,
  requestHashHeader: '',
});

/** For policies that connect where calls go. */
function connectedByCalls() {
  let picks = 0;
  return {
    connectsAtOnce: false,
    // Enough to find each of 300 endpoints.
    picksToConnect: 4096,
    attributes: {
      cluster: 'cluster:c',
      // Goes round the ring by the golden ratio, so that any number of picks is spread evenly.
      requestHash: () => BigInt.asUintN(64, BigInt(picks++) * 0x9e37_79b9_7f4a_7c15n),
    },
  };
}

describeContract('ring_hash', { type: ringHash, config: ringHashConfig, ...connectedByCalls() });
describeContract('maglev', {
  type: createMaglevPolicyType({ hash, flags: readFeatureFlags({}), limits: DEFAULT_LIMITS }),
  config: new RingHashConfig(
    { minRingSize: 2003, maxRingSize: 2003, requestHashHeader: '' },
    'maglev_experimental',
  ),
  ...connectedByCalls(),
});

const customPolicy = createCustomPolicyType(turns);
const customConfig = customPolicy.parseConfig({}, Violations.root(), {
  parseList: () => undefined,
});
if (customConfig === undefined) throw new Error('The config of the custom policy is not accepted');
describeContract('a policy of an application', {
  type: belowParent(customPolicy),
  config: customConfig,
});

// One target has a name that plain objects would trip over.
const target = { weight: 3, childPolicy: roundRobin };
describeContract('weighted_target over round_robin', {
  type: weightedTargetPolicy,
  config: new WeightedTargetConfig(
    new Map([
      ['first', target],
      ['__proto__', { ...target, weight: 1 }],
    ]),
  ),
  // Every other endpoint goes to the second target.
  endpointsOf: (endpoints) => {
    const part = (remainder: number) => endpoints.filter((_, i) => i % 2 === remainder);
    return {
      localities: [],
      children: new Map([
        ['first', singleLocality(...part(0))],
        ['__proto__', singleLocality(...part(1))],
      ]),
    };
  },
});

const child = { config: roundRobin, ignoreReresolutionRequests: false };
for (const [name, names] of [
  ['priority over round_robin', ['p0']],
  ['priority over an empty priority and round_robin', ['p0', 'p1']],
] as const) {
  describeContract(name, {
    type: priorityPolicy,
    config: new PriorityConfig(new Map(names.map((priority) => [priority, child]))),
    endpointsOf: (endpoints) => ({
      localities: [],
      children: new Map(
        names.map((priority, i) => [
          priority,
          i === names.length - 1 ? singleLocality(...endpoints) : emptyEndpointSet,
        ]),
      ),
    }),
  });
}

for (const attributes of [
  undefined,
  { cluster: 'cluster:c', overrideHost: { addresses: [], onPicked: () => {} } },
]) {
  describeContract(`override_host${attributes ? ', for calls that begin sessions' : ''}`, {
    type: overrideHostPolicy,
    config: new OverrideHostConfig({
      statuses: new Set(['HEALTHY', 'DRAINING']),
      idleTimeoutMs: 3_600_000,
      childPolicy: roundRobin,
    }),
    ...(attributes && { attributes }),
  });
}

const clusterImplPolicy = createClusterImplPolicyType({
  counters: new CallCounterMap(new FakeClock()),
});
const clusterImpl = new ClusterImplConfig({
  cluster: 'c',
  edsServiceName: '',
  maxRequests: 1024,
  drops: [],
  childPolicy: roundRobin,
});
describeContract('cluster_impl over round_robin', {
  type: clusterImplPolicy,
  config: clusterImpl,
});

const detecting = detectionWith({ failurePercentage });
const [detection, detectionAlias] = outlierDetectionPolicies;
for (const [name, type, config] of [
  ['over round_robin', detection, new OutlierDetectionLbConfig(detecting, roundRobin)],
  ['over cluster_impl', detection, new OutlierDetectionLbConfig(detecting, clusterImpl)],
  ['that detects nothing', detection, new OutlierDetectionLbConfig(detectionWith({}), roundRobin)],
  [
    'by its other name',
    detectionAlias,
    new OutlierDetectionLbConfig(detecting, roundRobin, detectionAlias?.name),
  ],
] as const) {
  if (type === undefined) throw new Error('No policy');
  describeContract(`outlier_detection ${name}`, {
    type,
    config,
    policies: [clusterImplPolicy, roundRobinPolicy],
  });
}

// A DNS cluster, because of an EDS cluster nobody hears a request for re-resolution.
const leaf: ClusterResource = { ...dnsCluster('leaf', 'host', 80), lbConfig: roundRobin };

/** `cds` of that leaf cluster, or of an aggregate of it, with what is below. */
function describeCds(
  name: string,
  resource: ClusterResource,
  options: Partial<Subject> = {},
): void {
  const aggregate = aggregateCluster('whole', 'leaf');
  const isAggregate = name.includes('aggregate');
  const config = new CdsConfig(isAggregate ? 'whole' : 'leaf', false);
  describeContract(`cds of ${name}`, {
    type: cdsPolicy,
    config,
    policies: [
      cdsPolicy,
      clusterImplPolicy,
      ...outlierDetectionPolicies,
      overrideHostPolicy,
      priorityPolicy,
      ringHash,
      roundRobinPolicy,
    ],
    makeUpdate: (endpoints) => {
      if (!endpoints.ok) return { config, endpoints };
      const priorities =
        endpoints.value.length === 0 ? [] : [{ localities: [makeLocality('r', endpoints.value)] }];
      return {
        config,
        endpoints: ok(emptyEndpointSet),
        xds: lbContext({
          leaf: leafOf(resource, { priorities }),
          ...(isAggregate && { whole: aggregateOf(aggregate, 'leaf') }),
        }),
      };
    },
    ...options,
  });
}

const detectingLeaf = { ...leaf, outlierDetection: detecting };
describeCds('a leaf cluster', leaf);
describeCds('an aggregate cluster', leaf);
describeCds('a cluster with outlier detection', detectingLeaf);
describeCds('a cluster with sessions and outlier detection', detectingLeaf, {
  attributes: { cluster: 'cluster:leaf', overrideHost: { addresses: [], onPicked: () => {} } },
});
// The picks of the contract never end as calls.
describeCds(
  'a cluster that waits for a call',
  { ...leaf, maxRequests: Number.MAX_SAFE_INTEGER, lbConfig: ringHashConfig },
  connectedByCalls(),
);
