import type { LbPolicyContract } from './contract';
import { endingBehaviours } from './ending';
import { failingBehaviours } from './failing';
import { servingBehaviours } from './serving';
import { Subject } from './subject';
import { updatingBehaviours } from './updating';

/** One test, for whatever runs tests: `it(name, run)`. */
export interface ContractCase {
  /** What the policy must do, such as `queues calls until a connection is up, then uses it`. */
  readonly name: string;
  /** Resolves if it does; rejects with an `AssertionError` of `node:assert` if not. Takes some milliseconds. */
  run(): Promise<void>;
}

/** Everything that a policy owes what is above it. Each case has a policy of its own. */
export function createContractCases(contract: LbPolicyContract): readonly ContractCase[] {
  const behaviours = [
    ...servingBehaviours(contract),
    ...updatingBehaviours(contract),
    ...failingBehaviours,
    ...endingBehaviours,
  ];
  return behaviours.map(([name, check]) => ({
    name,
    run: async () => check(new Subject(contract)),
  }));
}
