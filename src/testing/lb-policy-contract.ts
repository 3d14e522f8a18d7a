import { LB_POLICY, type LbPolicyDefinition } from '../lb/custom/definition';
import { createCustomPolicyType } from '../lb/custom/balancer';
import {
  ANYTHING,
  BOOLEAN,
  checkOptions,
  COUNT,
  mapOf,
  objectOf,
  optional,
  STRING,
  type MembersOf,
} from '../util/check-arguments';
import { ok } from '../util/result';
import { Violations } from '../util/violations';
import { behavioursOf } from './behaviours';
import { belowParent, type LbPolicyContract, Subject } from './subject';
import { makeEndpointSet, makeLocality } from './lb-harness';
import { XdsError } from '../util/xds-error';

/** A load-balancing policy of an application, and the properties its tests depend on. */
export interface LbPolicyContractOptions<Config> {
  readonly policy: LbPolicyDefinition<Config>;
  /** The JSON config to test it with. Default: `{}`. */
  readonly config?: unknown;
  /** The headers of the calls. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it connects on its first update. Default: `true`. `false`: when a call is picked, or by `exitIdle`. */
  readonly connectsAtOnce?: boolean;
  /** Number of picks that connect to three endpoints, if only picks do that. Default: 0. */
  readonly picksToConnect?: number;
  /**
   * Whether 64 picks reach each of three connected endpoints, for random numbers from 0 up to 1. Default: `true`.
   * `false`: all reach the same one.
   */
  readonly usesEveryEndpoint?: boolean;
}

const OPTIONS: MembersOf<LbPolicyContractOptions<unknown>> = {
  policy: objectOf(LB_POLICY),
  config: ANYTHING,
  headers: optional(mapOf('an object of strings', STRING)),
  connectsAtOnce: optional(BOOLEAN),
  picksToConnect: optional(COUNT),
  usesEveryEndpoint: optional(BOOLEAN),
};

/**
 * Returns the behaviour that parents require of every load-balancing policy, as tests for any test runner. They run
 * policies of the given kind with a fake clock and fake connections: nothing is sent, and no time passes.
 *
 * @throws XdsError if the policy does not accept the config.
 *
 * @example
 * ```ts
 * import { describe, it } from 'node:test';
 * import { lbPolicyContract } from 'grpc-xds/testing';
 *
 * describe('acme.v1.ByVersion', () => {
 *   for (const { name, run } of lbPolicyContract({ policy: versionPolicy })) it(name, run);
 * });
 * ```
 */
export function lbPolicyContract<Config>(
  options: LbPolicyContractOptions<Config>,
): readonly ContractCase[] {
  checkOptions('lbPolicyContract()', options, OPTIONS);
  const { connectsAtOnce = true, usesEveryEndpoint = true, picksToConnect = 0 } = options;
  const type = createCustomPolicyType(options.policy);
  const violations = Violations.root();
  const config = type.parseConfig(options.config ?? {}, violations, {
    parseList: () => undefined,
  });
  if (config === undefined) {
    throw new XdsError(
      'XDS_OPTION_INVALID',
      `lbPolicyContract(): ${type.name} does not accept the config: ${violations.all.join('; ')}`,
    );
  }
  return createContractCases({
    type: belowParent(type),
    headers: new Map(Object.entries(options.headers ?? {})),
    connectsAtOnce,
    usesEveryEndpoint,
    picksToConnect,
    makeUpdate: (endpoints) => ({
      config,
      endpoints: endpoints.ok ? ok(makeEndpointSet(makeLocality('r', endpoints.value))) : endpoints,
    }),
  });
}

/** One test, for any test runner: `it(name, run)`. */
export interface ContractCase {
  /** The required behaviour, such as `queues calls until a connection is up, then uses it`. */
  readonly name: string;
  /** Rejects with an `AssertionError` of `node:assert` if the policy lacks it. Takes some milliseconds. */
  run(): Promise<void>;
}

/** Creates all tests of a policy. Each creates its own policy. */
export function createContractCases(contract: LbPolicyContract): readonly ContractCase[] {
  return Object.entries(behavioursOf(contract)).map(([name, check]) => ({
    name,
    run: async () => check(new Subject(contract)),
  }));
}
