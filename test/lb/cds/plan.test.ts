import { planAggregate, planLeaf } from '../../../src/lb/cds/plan';
import { CdsConfig } from '../../../src/lb/cds/config';
import { NO_DETECTION, OutlierDetectionLbConfig } from '../../../src/lb/outlier-detection/config';
import type {
  EndpointsResource,
  LocalityEndpoints,
} from '../../../src/resources/endpoints/endpoints';
import { makeLocality } from '../../support/lb-harness';
import { dnsCluster, edsCluster } from '../../support/xds-builders';
import { detectionWith, failurePercentage } from '../outlier-detection/detection';

const eds = edsCluster('c', 'service');
const [a, b, c] = ['a', 'b', 'c'].map((region) => ({
  localities: [makeLocality(region, ['10.0.0.1:80'])],
}));

function endpoints(
  priorities: readonly ({ localities: readonly LocalityEndpoints[] } | undefined)[],
  drops: EndpointsResource['drops'] = [],
): EndpointsResource {
  return { clusterName: 'c', priorities: priorities.filter((p) => p !== undefined), drops };
}

describe('planLeaf', () => {
  it('gives cluster_impl what holds for the whole cluster', () => {
    const drops = [{ category: 'x', perMillion: 5 }];
    const plan = planLeaf({ ...eds, maxRequests: 7 }, endpoints([a], drops), undefined);
    expect(plan.clusterImplConfig.options).toEqual({
      cluster: 'c',
      edsServiceName: 'service',
      maxRequests: 7,
      drops,
      childPolicy: plan.priorityConfig,
    });
  });

  it('gives every priority the policy of the cluster', () => {
    const plan = planLeaf(eds, endpoints([a, b]), undefined);
    expect([...plan.priorityConfig.priorities]).toEqual([
      ['child0', { config: eds.lbConfig, ignoreReresolutionRequests: true }],
      ['child1', { config: eds.lbConfig, ignoreReresolutionRequests: true }],
    ]);
  });

  it('splits the endpoints by priority', () => {
    const { children } = planLeaf(eds, endpoints([a, b]), undefined).endpoints;
    expect(children?.get('child0')?.localities).toBe(a?.localities);
    expect(children?.get('child1')?.localities).toBe(b?.localities);
  });

  it('listens to requests for re-resolution of a DNS cluster', () => {
    const dns = dnsCluster('d', 'host', 80);
    const plan = planLeaf(dns, endpoints([a]), undefined);
    expect(plan.clusterImplConfig.options.edsServiceName).toBe('');
    expect(plan.priorityConfig.priorities.get('child0')?.ignoreReresolutionRequests).toBe(false);
  });

  it('keeps both configs when only endpoints changed', () => {
    const before = planLeaf(eds, endpoints([a, b]), undefined);
    const changed = { localities: [makeLocality('b', ['10.0.0.2:80'])] };
    const after = planLeaf(eds, endpoints([a, changed]), before);
    expect(after.config).toBe(before.config);
    expect(after.priorityConfig).toBe(before.priorityConfig);
    expect(after.endpoints.children?.get('child0')).toBe(before.endpoints.children?.get('child0'));
    expect(after.endpoints.children?.get('child1')?.localities).toBe(changed.localities);
  });

  it('keeps the config of priority when only the limit changed', () => {
    const before = planLeaf(eds, endpoints([a]), undefined);
    const after = planLeaf({ ...eds, maxRequests: 5 }, endpoints([a]), before);
    expect(after.config).not.toBe(before.config);
    expect(after.priorityConfig).toBe(before.priorityConfig);
  });

  it('keeps both configs when the cluster was sent again with the same content', () => {
    const drops = [{ category: 'x', perMillion: 5 }];
    const before = planLeaf(eds, endpoints([a], drops), undefined);
    const after = planLeaf({ ...eds }, endpoints([a], structuredClone(drops)), before);
    expect(after.config).toBe(before.config);
  });

  it('makes another config of cluster_impl when the EDS service name changed', () => {
    const before = planLeaf(eds, endpoints([a]), undefined);
    const after = planLeaf(
      { ...eds, discovery: edsCluster('c', 'other').discovery },
      endpoints([a]),
      before,
    );
    expect(after.clusterImplConfig.options.edsServiceName).toBe('other');
  });

  it.each([
    [
      'a category is added',
      [
        { category: 'x', perMillion: 5 },
        { category: 'y', perMillion: 1 },
      ],
    ],
    ['a category is renamed', [{ category: 'y', perMillion: 5 }]],
    ['a share changes', [{ category: 'x', perMillion: 6 }]],
    ['all are gone', []],
  ])('makes another config of cluster_impl when of the drops %s', (_, drops) => {
    const before = planLeaf(eds, endpoints([a], [{ category: 'x', perMillion: 5 }]), undefined);
    expect(planLeaf(eds, endpoints([a], drops), before).clusterImplConfig.options.drops).toEqual(
      drops,
    );
  });

  it('creates another config of priority when priorities are added, removed or swapped', () => {
    const before = planLeaf(eds, endpoints([a, b]), undefined);
    for (const next of [[a, b, c], [a], [b, a]]) {
      const after = planLeaf(eds, endpoints(next), before);
      expect(after.priorityConfig).not.toBe(before.priorityConfig);
      expect(after.clusterImplConfig.options.childPolicy).toBe(after.priorityConfig);
      expect(after.priorityConfig.priorities.get('child0')).toBe(
        before.priorityConfig.priorities.get('child0'),
      );
    }
  });

  it('makes another config of priority when the policy of the cluster changed', () => {
    const before = planLeaf(eds, endpoints([a]), undefined);
    const lbConfig = { policyName: 'other' };
    const after = planLeaf({ ...eds, lbConfig }, endpoints([a]), before);
    expect(after.priorityConfig.priorities.get('child0')?.config).toBe(lbConfig);
  });
});

describe('planLeaf with outlier detection', () => {
  const detection = detectionWith({ failurePercentage });
  const detecting = { ...eds, outlierDetection: detection };
  const supported = { hasSessions: false, hasOutlierDetection: true };

  it('puts it above cluster_impl', () => {
    const plan = planLeaf(detecting, endpoints([a]), undefined, supported);
    expect(plan.config).toEqual(new OutlierDetectionLbConfig(detection, plan.clusterImplConfig));
  });

  it('keeps it with a no-op config where the cluster has no outlier detection (gRFC A50)', () => {
    const plan = planLeaf(eds, endpoints([a]), undefined, supported);
    expect(plan.config).toEqual(new OutlierDetectionLbConfig(NO_DETECTION, plan.clusterImplConfig));
  });

  it('leaves it out where the policy is not registered', () => {
    const plan = planLeaf(detecting, endpoints([a]), undefined);
    expect(plan.config).toBe(plan.clusterImplConfig);
  });

  it('keeps the config when the cluster was sent again with the same content', () => {
    const before = planLeaf(detecting, endpoints([a]), undefined, supported);
    const again = { ...eds, outlierDetection: structuredClone(detection) };
    expect(planLeaf(again, endpoints([a]), before, supported).config).toBe(before.config);
  });

  it('makes another config when something below changed', () => {
    const before = planLeaf(detecting, endpoints([a]), undefined, supported);
    const after = planLeaf({ ...detecting, maxRequests: 5 }, endpoints([a]), before, supported);
    expect(after.config).toEqual(new OutlierDetectionLbConfig(detection, after.clusterImplConfig));
    expect(after.clusterImplConfig).not.toBe(before.clusterImplConfig);
  });

  it('keeps the configs below when only the detection changed, is added or removed', () => {
    const before = planLeaf(detecting, endpoints([a]), undefined, supported);
    for (const outlierDetection of [{ ...detection, intervalMs: 1 }, undefined]) {
      const after = planLeaf({ ...eds, outlierDetection }, endpoints([a]), before, supported);
      expect(after.config).not.toEqual(before.config);
      expect(after.clusterImplConfig).toBe(before.clusterImplConfig);
      expect(planLeaf(detecting, endpoints([a]), after, supported).clusterImplConfig).toBe(
        before.clusterImplConfig,
      );
    }
  });
});

describe('planLeaf with sessions', () => {
  const sessions = { hasSessions: true, hasOutlierDetection: false };

  it('puts override_host between cluster_impl and priority', () => {
    const plan = planLeaf(eds, endpoints([a]), undefined, sessions);
    expect(plan.clusterImplConfig.options.childPolicy).toBe(plan.overrideHostConfig);
    expect(plan.overrideHostConfig?.options).toEqual({
      statuses: eds.overrideHostStatuses,
      idleTimeoutMs: 3_600_000,
      childPolicy: plan.priorityConfig,
    });
  });

  it('leaves it out where there are none', () => {
    expect(planLeaf(eds, endpoints([a]), undefined).overrideHostConfig).toBeUndefined();
  });

  it('keeps the config when the cluster was sent again with the same content', () => {
    const before = planLeaf(eds, endpoints([a]), undefined, sessions);
    const again = { ...eds, overrideHostStatuses: new Set(eds.overrideHostStatuses) };
    const after = planLeaf(again, endpoints([a]), before, sessions);
    expect(after.overrideHostConfig).toBe(before.overrideHostConfig);
    expect(after.config).toBe(before.config);
  });

  it.each([
    ['the idle timeout', { connectionIdleTimeoutMs: 5 }],
    ['the health states', { overrideHostStatuses: new Set(['HEALTHY', 'DRAINING'] as const) }],
    ['their number', { overrideHostStatuses: new Set(['HEALTHY'] as const) }],
  ])('makes another config when %s changed', (_, changed) => {
    const before = planLeaf(eds, endpoints([a]), undefined, sessions);
    const after = planLeaf({ ...eds, ...changed }, endpoints([a]), before, sessions);
    expect(after.overrideHostConfig).not.toBe(before.overrideHostConfig);
    expect(after.clusterImplConfig.options.childPolicy).toBe(after.overrideHostConfig);
  });
});

describe('planAggregate', () => {
  it('makes each leaf a priority, under its name', () => {
    const plan = planAggregate(['x', 'y'], undefined);
    expect([...plan.priorities]).toEqual([
      ['x', { config: new CdsConfig('x', false), ignoreReresolutionRequests: false }],
      ['y', { config: new CdsConfig('y', false), ignoreReresolutionRequests: false }],
    ]);
  });

  it('is the same object for the same leaves', () => {
    const before = planAggregate(['x', 'y'], undefined);
    expect(planAggregate(['x', 'y'], before)).toBe(before);
  });

  it('keeps the configs of the leaves that stay', () => {
    const before = planAggregate(['x', 'y'], undefined);
    const after = planAggregate(['y', 'z'], before);
    expect([...after.priorities.keys()]).toEqual(['y', 'z']);
    expect(after.priorities.get('y')).toBe(before.priorities.get('y'));
  });
});
