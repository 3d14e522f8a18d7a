import { leastRequestPolicy } from '../../../src/lb/least-request/balancer';
import { createRandomSubsettingPolicyType } from '../../../src/lb/random-subsetting/balancer';
import { XxHash64 } from '../../../src/util/hashes';
import { RandomSubsetting } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/random_subsetting/v3/random_subsetting';
import { LeastRequest } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/least_request/v3/least_request';
import { LeastRequestConfig } from '../../../src/lb/least-request/config';
import { RandomSubsettingConfig } from '../../../src/lb/random-subsetting/config';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import type { TypedBytes } from '../../../src/resources/extension-points';
import { Violations } from '../../../src/util/violations';

const registry = new LbPolicyRegistry({
  policies: [createRandomSubsettingPolicyType({ hash: new XxHash64() }), leastRequestPolicy],
});

const PREFIX = 'type.googleapis.com/envoy.extensions.load_balancing_policies';

function leastRequest(choiceCount: number): TypedBytes {
  const value = LeastRequest.encode({ ...LeastRequest.create(), choiceCount }).finish();
  return { typeUrl: `${PREFIX}.least_request.v3.LeastRequest`, value };
}

function subsetting(subsetSize: number | undefined, ...children: readonly TypedBytes[]) {
  const policies = children.map((typedConfig) => ({
    typedExtensionConfig: { name: '', typedConfig },
  }));
  const value = RandomSubsetting.encode({ subsetSize, childPolicy: { policies } }).finish();
  return { typeUrl: `${PREFIX}.random_subsetting.v3.RandomSubsetting`, value };
}

function convert(config: TypedBytes, depth = 0) {
  const violations = Violations.root();
  const result = registry.fromProto(config, depth, violations);
  return { result, violations: violations.all };
}

describe('the converter of random_subsetting', () => {
  it('takes the size and the first supported child', () => {
    const unknown = { typeUrl: `${PREFIX}.maglev.v3.Maglev`, value: new Uint8Array() };
    const result = new RandomSubsettingConfig(20, new LeastRequestConfig(3));
    expect(convert(subsetting(20, unknown, leastRequest(3)))).toEqual({ result, violations: [] });
  });

  it.each([
    ['no size', subsetting(undefined, leastRequest(2)), ['subset_size: must be at least 1']],
    ['a size of 0', subsetting(0, leastRequest(2)), ['subset_size: must be at least 1']],
    [
      'no child',
      {
        ...subsetting(5),
        value: RandomSubsetting.encode({ subsetSize: 5, childPolicy: undefined }).finish(),
      },
      ['child_policy: field not present'],
    ],
    [
      'two mistakes',
      subsetting(0, leastRequest(1)),
      [
        'subset_size: must be at least 1',
        'child_policy.policies[0].typed_extension_config.typed_config.choice_count: must be at least 2, not 1',
      ],
    ],
    [
      'malformed bytes',
      { ...subsetting(5), value: Uint8Array.of(0x0a) },
      [expect.stringContaining('malformed message')],
    ],
  ])('refuses %s', (_case, config, violations) => {
    expect(convert(config)).toEqual({ result: undefined, violations });
  });

  it('refuses children nested more than 16 deep', () => {
    expect(convert(subsetting(1, leastRequest(2)), 14).violations).toEqual([]);
    expect(convert(subsetting(1, leastRequest(2)), 15).violations).toEqual([
      'child_policy.policies[0].typed_extension_config.typed_config: load-balancing policies are nested more than 16 deep',
    ]);
  });
});
