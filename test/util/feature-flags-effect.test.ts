import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import type { PolicyEnvironment } from '../../src/lb/registry/policy-table';
import { readFeatureFlags, type FeatureFlags } from '../../src/util/feature-flags';
import { silentLogger } from '../../src/util/logger';
import { FakeClock } from '../support/fake-clock';
import { createReadyHash } from '../support/ready-hash';
import { flagEffects } from './feature-flag-effects';

async function environmentOf(changed: Partial<FeatureFlags>): Promise<PolicyEnvironment> {
  const flags = { ...readFeatureFlags({}), ...changed };
  const ambient = { clock: new FakeClock(), random: () => 0, logger: silentLogger };
  return { ...ambient, flags, hash: await createReadyHash(), limits: DEFAULT_LIMITS };
}

describe('a feature flag', () => {
  it('has a tested effect', () => {
    expect(Object.keys(flagEffects).sort()).toEqual(Object.keys(readFeatureFlags({})).sort());
  });

  it.each(Object.entries(flagEffects))('%s switches on and off', async (flag, isOn) => {
    expect(await isOn(await environmentOf({ [flag]: true }))).toBe(true);
    expect(await isOn(await environmentOf({ [flag]: false }))).toBe(false);
  });
});
