import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { XxHash64 } from '../../../src/util/hashes';
import { CdsConfig } from '../../../src/lb/cds/config';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { overrideHostPolicy } from '../../../src/lb/override-host/balancer';
import { createRingHashPolicyType } from '../../../src/lb/ring-hash/balancer';
import { RingHashConfig } from '../../../src/lb/ring-hash/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import type { ClusterResource } from '../../../src/resources/cluster/cluster';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { FakeClock } from '../../support/fake-clock';
import { makeLocality } from '../../support/lb-harness';
import { aggregateCluster, dnsCluster } from '../../support/xds-builders';
import { aggregateOf, lbContext, leafOf } from '../../support/lb-xds-config';
import { whenReady } from '../../support/ready-hash';
import { detectionWith, failurePercentage } from '../outlier-detection/detection';
import { cdsPolicy, priorityPolicy } from '../../support/lb-policies';

// A DNS cluster, because of an EDS cluster nobody hears a request for re-resolution.
const leaf: ClusterResource = {
  ...dnsCluster('leaf', 'host', 80),
  lbConfig: new RoundRobinConfig(),
};
const whole = aggregateCluster('whole', 'leaf');
const config = new CdsConfig('leaf', false);
const aggregateConfig = new CdsConfig('whole', false);
const policies = [
  cdsPolicy,
  createClusterImplPolicyType({ counters: new CallCounterMap(new FakeClock()) }),
  ...outlierDetectionPolicies,
  priorityPolicy,
  roundRobinPolicy,
];

function leafWith(
  endpoints: readonly XdsEndpoint[],
  resolutionNote: string,
  resource: ClusterResource = leaf,
) {
  const priorities = endpoints.length === 0 ? [] : [{ localities: [makeLocality('r', endpoints)] }];
  return leafOf(resource, { priorities, resolutionNote });
}

const detecting: ClusterResource = {
  ...leaf,
  outlierDetection: detectionWith({ failurePercentage }),
};

describeLbPolicyContract({
  name: 'cds of a leaf cluster',
  type: cdsPolicy,
  policies,
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints, note) =>
    endpoints.ok
      ? {
          config,
          endpoints: ok(emptyEndpointSet),
          xds: lbContext({ leaf: leafWith(endpoints.value, note) }),
        }
      : { config, endpoints },
});

describeLbPolicyContract({
  name: 'cds of a cluster with outlier detection',
  type: cdsPolicy,
  policies,
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints, note) =>
    endpoints.ok
      ? {
          config,
          endpoints: ok(emptyEndpointSet),
          xds: lbContext({ leaf: leafWith(endpoints.value, note, detecting) }),
        }
      : { config, endpoints },
});

describeLbPolicyContract({
  name: 'cds of a cluster with sessions and outlier detection',
  type: cdsPolicy,
  policies: [...policies, overrideHostPolicy],
  attributes: { cluster: 'cluster:leaf', overrideHost: { addresses: [], onPicked: () => {} } },
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints, note) =>
    endpoints.ok
      ? {
          config,
          endpoints: ok(emptyEndpointSet),
          xds: lbContext({ leaf: leafWith(endpoints.value, note, detecting) }),
        }
      : { config, endpoints },
});

const hash = XxHash64.start();
beforeAll(() => whenReady(hash));

const onDemand: ClusterResource = {
  ...leaf,
  name: 'on-demand',
  // The picks of the contract never end as calls.
  maxRequests: Number.MAX_SAFE_INTEGER,
  lbConfig: new RingHashConfig({ minRingSize: 1024, maxRingSize: 4096, requestHashHeader: '' }),
};
const onDemandConfig = new CdsConfig('on-demand', false);
let picks = 0;

describeLbPolicyContract({
  name: 'cds of a cluster that waits for a call',
  type: cdsPolicy,
  policies: [
    ...policies,
    createRingHashPolicyType({ hash, flags: readFeatureFlags({}), limits: DEFAULT_LIMITS }),
  ],
  connectsAtOnce: false,
  usesEveryEndpoint: true,
  // Enough to find each of 300 endpoints.
  picksToConnect: 4096,
  attributes: {
    cluster: 'cluster:on-demand',
    // Goes round the ring by the golden ratio, so that any number of picks is spread evenly.
    requestHash: () => BigInt.asUintN(64, BigInt(picks++) * 0x9e37_79b9_7f4a_7c15n),
  },
  makeUpdate: (endpoints, note) =>
    endpoints.ok
      ? {
          config: onDemandConfig,
          endpoints: ok(emptyEndpointSet),
          xds: lbContext({ 'on-demand': leafWith(endpoints.value, note, onDemand) }),
        }
      : { config: onDemandConfig, endpoints },
});

describeLbPolicyContract({
  name: 'cds of an aggregate cluster',
  type: cdsPolicy,
  policies,
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints, note) =>
    endpoints.ok
      ? {
          config: aggregateConfig,
          endpoints: ok(emptyEndpointSet),
          xds: lbContext({
            leaf: leafWith(endpoints.value, note),
            whole: aggregateOf(whole, 'leaf'),
          }),
        }
      : { config: aggregateConfig, endpoints },
});
