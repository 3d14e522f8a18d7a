import type { LbPolicyDefinition } from '../lb/custom/definition';
import { createCustomPolicyType } from '../lb/custom/policy-type';
import { ok } from '../util/result';
import { Violations } from '../util/violations';
import { createContractCases, type ContractCase } from './contract/contract-cases';
import { singleLocality } from './lb-endpoints';

/** A load-balancing policy of an application, and what is to be known to test it. */
export interface LbPolicyContractOptions<Config> {
  readonly policy: LbPolicyDefinition<Config>;
  /** The JSON config to test it with. Default: `{}`. */
  readonly config?: unknown;
  /** The headers that calls are made with, if the policy goes by any. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it connects without being asked. Default: `true`. `false`: when a call is picked, or by `exitIdle`. */
  readonly connectsAtOnce?: boolean;
  /** How many picks it takes to have three endpoints connected to, where only picks do that. Default: 0. */
  readonly picksToConnect?: number;
  /**
   * Whether 64 picks reach each of three connected endpoints, for random numbers from 0 up to 1. Default: `true`.
   * `false`: it holds on to one of them.
   */
  readonly usesEveryEndpoint?: boolean;
}

/**
 * The behaviour that every load-balancing policy owes the tree it is used in, as tests for any test runner. Each is
 * run on policies of the given kind, on a clock and connections that are made up: nothing is sent, and nothing waited
 * for.
 *
 * @throws Error if the policy does not accept the config.
 */
export function lbPolicyContract<Config>(
  options: LbPolicyContractOptions<Config>,
): readonly ContractCase[] {
  const { connectsAtOnce = true, usesEveryEndpoint = true, picksToConnect = 0 } = options;
  const { policy: type } = createCustomPolicyType(options.policy);
  const violations = Violations.root();
  const config = type.parseConfig(options.config ?? {}, violations, {
    parseList: () => undefined,
  });
  if (config === undefined) {
    throw new Error(`${type.name} does not accept the config: ${violations.all.join('; ')}`);
  }
  return createContractCases({
    type,
    headers: new Map(Object.entries(options.headers ?? {})),
    ...{ connectsAtOnce, usesEveryEndpoint, picksToConnect },
    makeUpdate: (endpoints) => ({
      config,
      endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
    }),
  });
}
