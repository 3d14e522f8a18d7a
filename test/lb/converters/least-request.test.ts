import {
  Cluster,
  Cluster_LbPolicy,
} from '../../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { LeastRequest } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/least_request/v3/least_request';
import { LeastRequestConfig } from '../../../src/lb/least-request/config';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { leastRequestPolicy } from '../../../src/lb/least-request/balancer';
import { wrrLocalityPolicy } from '../../../src/lb/wrr-locality/balancer';
import { WrrLocalityConfig } from '../../../src/lb/wrr-locality/config';
import { parseClusterLbPolicy } from '../../../src/resources/cluster/cluster-lb-policy-parser';
import { Violations } from '../../../src/util/violations';

const registry = new LbPolicyRegistry({
  policies: [leastRequestPolicy, wrrLocalityPolicy],
});

const TYPE = 'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest';

function convertBytes(value: Uint8Array) {
  const violations = Violations.root();
  const typeUrl = `type.googleapis.com/${TYPE}`;
  const config = registry.fromProto({ typeUrl, value }, 0, violations);
  return { config, violations: violations.all };
}

function convert(choiceCount: number | undefined) {
  return convertBytes(LeastRequest.encode({ ...LeastRequest.create(), choiceCount }).finish());
}

describe('the converter of least_request', () => {
  it.each([
    [undefined, 2],
    [2, 2],
    [10, 10],
    [4_294_967_295, 10],
  ])('takes a choice_count of %s', (choiceCount, expected) => {
    const config = new LeastRequestConfig(expected);
    expect(convert(choiceCount)).toEqual({ config, violations: [] });
  });

  it.each([0, 1])('refuses a choice_count of %s', (choiceCount) => {
    const violations = [`choice_count: must be at least 2, not ${choiceCount}`];
    expect(convert(choiceCount)).toEqual({ config: undefined, violations });
  });
});

describe('least_request by lb_policy', () => {
  it.each([
    [undefined, 2],
    [5, 5],
    [50, 10],
  ])(
    'compares, by a choice_count of %s, %s endpoints in each locality',
    (choiceCount, expected) => {
      const cluster = Cluster.create({
        lbPolicy: Cluster_LbPolicy.LEAST_REQUEST,
        ...(choiceCount !== undefined && {
          lbConfig: { $case: 'leastRequestLbConfig', value: { choiceCount } },
        }),
      });
      const violations = Violations.root();
      expect(parseClusterLbPolicy(cluster, { lbConfigs: registry }, violations)).toEqual(
        new WrrLocalityConfig(new LeastRequestConfig(expected)),
      );
      expect(violations.all).toEqual([]);
    },
  );
});
