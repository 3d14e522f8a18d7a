import { ConnectivityState } from '../../../src/grpc-js';
import { createPolicyType, isInstanceOf } from '../../../src/lb/tree/checked-policy';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { LbConfig } from '../../../src/resources/extension-points';
import { silentLogger } from '../../../src/util/logger';
import { LbHarness, pickError } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';

const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
const REJECTION = 'checked was given a config of other that it cannot use';

class CheckedConfig implements LbConfig {
  readonly policyName = 'checked';
}

const own = new CheckedConfig();
const foreign: LbConfig = { policyName: 'other' };

function setUp() {
  const harness = new LbHarness();
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (text: () => string) => errors.push(text()) };
  Object.assign(harness.host, { environment: { ...harness.environment, logger } });
  const stub = new StubPolicyType('checked');
  const policy = harness.create(
    createPolicyType({
      name: 'checked',
      isConfig: isInstanceOf(CheckedConfig),
      parseConfig: () => own,
      create: (host) => stub.create(host),
    }),
  );
  const update = (config: LbConfig) => harness.updateEndpoints(policy, config, emptyEndpointSet);
  return { harness, errors, policy, update, child: stub.instance(0) };
}

describe('a policy with a checked config', () => {
  it('receives updates with a config of its class', () => {
    const { errors, update, child } = setUp();
    update(own);
    expect(child.updates.map(({ config }) => config)).toEqual([own]);
    expect(errors).toEqual([]);
  });

  it('fails picks when the first config is of another policy', () => {
    const { harness, errors, update, child } = setUp();
    update(foreign);
    expect(child.updates).toEqual([]);
    expect(harness.last).toMatchObject({ state: TRANSIENT_FAILURE, errorMessage: REJECTION });
    expect(pickError(harness.last.picker)).toBe(REJECTION);
    expect(errors).toEqual([REJECTION]);
  });

  it('connects with the first config of its class after a failure', () => {
    const { harness, update, child } = setUp();
    update(foreign);
    update(own);
    expect(harness.last.state).toBe(CONNECTING);
    expect(child.updates).toHaveLength(1);
  });

  it('keeps the last good config when one of another policy follows', () => {
    const { harness, errors, update, child } = setUp();
    update(own);
    update(foreign);
    expect(child.updates).toHaveLength(1);
    expect(harness.host.published).toEqual([]);
    expect(errors).toEqual([REJECTION]);
  });

  it('forwards everything else', () => {
    const { policy, child } = setUp();
    policy.exitIdle();
    policy.resetBackoff();
    policy.destroy();
    expect(child).toMatchObject({ exitIdleCalls: 1, resetBackoffCalls: 1, destroyed: true });
  });
});
