import type { LbPolicyContract as PolicyAndHowToDriveIt } from '../../src/testing/subject';
import { createContractCases } from '../../src/testing/lb-policy-contract';

/** A policy and how to drive it. */
export interface LbPolicyContract extends PolicyAndHowToDriveIt {
  /** For the test report, such as `round_robin` or `weighted_target over round_robin`. */
  readonly name: string;
}

/** The behaviour every load-balancing policy owes its parent, as tests. */
export function describeLbPolicyContract(contract: LbPolicyContract): void {
  describe(`load-balancing policy contract: ${contract.name}`, () => {
    for (const { name, run } of createContractCases(contract)) it(name, run);
  });
}
