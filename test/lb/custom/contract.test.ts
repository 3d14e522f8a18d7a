import { createCustomPolicyType } from '../../../src/lb/custom/balancer';
import { belowParent } from '../../../src/testing/subject';
import { ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';
import { turns } from './support';

const policy = createCustomPolicyType(turns);
const violations = Violations.root();
const config = policy.parseConfig({}, violations, { parseList: () => undefined });
if (config === undefined) throw new Error(violations.all.join());

describeLbPolicyContract({
  name: 'a policy of an application',
  type: belowParent(policy),
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  }),
});
