// The policy where the control plane puts it: below cds, above cluster_impl and priority.

import { Metadata, Status } from '../../../src/grpc-js';
import { CdsConfig } from '../../../src/lb/cds/config';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import type { PriorityEndpoints } from '../../../src/resources/endpoints/endpoints';
import type { OutlierDetectionConfig } from '../../../src/resources/cluster/cluster';
import { ok } from '../../../src/util/result';
import { FakeClock } from '../../support/fake-clock';
import { LbHarness, makeLocality, pick, pickAddress } from '../../support/lb-harness';
import { lbContext, leafOf } from '../../support/lb-xds-config';
import { edsCluster } from '../../support/xds-builders';
import { detectionWith, failurePercentage } from './detection';
import { cdsPolicy, priorityPolicy } from '../../support/lb-policies';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const INTERVAL_MS = 10_000;

const priorities: PriorityEndpoints[] = [[A, B], [C]].map((addresses, i) => ({
  localities: [makeLocality(`p${i}`, addresses)],
}));
const detection = detectionWith({
  maxEjectionPercent: 100,
  failurePercentage: { ...failurePercentage, minimumHosts: 1 },
});

function setUp() {
  const harness = new LbHarness([
    createClusterImplPolicyType({ counters: new CallCounterMap(new FakeClock()) }),
    ...outlierDetectionPolicies,
    priorityPolicy,
    roundRobinPolicy,
  ]);
  const policy = harness.create(cdsPolicy);
  const update = (outlierDetection: OutlierDetectionConfig | undefined) => {
    const cluster = {
      ...edsCluster('c', ''),
      lbConfig: new RoundRobinConfig(),
      outlierDetection,
    };
    harness.update(policy, {
      config: new CdsConfig('c', false),
      endpoints: ok(emptyEndpointSet),
      xds: lbContext({ c: leafOf(cluster, { priorities }) }),
    });
  };
  return { harness, update };
}

function failCalls(harness: LbHarness): void {
  for (let i = 0; i < 40; i++) {
    pick(harness.last.picker).onCallEnded?.(Status.INTERNAL, '', new Metadata());
  }
}

describe('outlier_detection under cds', () => {
  it('uses the next priority when all endpoints of one are ejected', () => {
    const { harness, update } = setUp();
    update(detection);
    for (const address of [A, B]) harness.subchannel(address).connect();
    failCalls(harness);
    harness.clock.advance(INTERVAL_MS);
    harness.subchannel(C).connect();
    expect(pickAddress(harness.last.picker)).toBe(C);
    harness.clock.advance(40_000);
    expect([A, B]).toContain(pickAddress(harness.last.picker));
  });

  it('can be switched on and off during calls, on the same connections', () => {
    const { harness, update } = setUp();
    update(undefined);
    for (const address of [A, B]) harness.subchannel(address).connect();
    const { subchannels } = harness.host;
    for (const outlierDetection of [detection, undefined, detection, detectionWith({})]) {
      const before = harness.host.published.length;
      update(outlierDetection);
      const isCounting = pick(harness.last.picker).onCallEnded !== null;
      expect(isCounting).toBe(outlierDetection === detection);
      for (const { picker } of harness.host.published.slice(before)) {
        expect([A, B]).toContain(pickAddress(picker));
      }
    }
    expect(subchannels.filter(({ closed }) => closed)).toEqual([]);
    expect(subchannels.length).toBe(2);
    expect(harness.errors).toEqual([]);
  });
});
