import type { Limits } from '../../bootstrap/limits';
import type { XxHash64 } from '../../hash/xx-hash';
import type { Clock } from '../../util/clock';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { createCdsPolicyType } from '../cds/balancer';
import { createClusterImplPolicyType } from '../cluster-impl/balancer';
import { CallCounterMap } from '../cluster-impl/call-counter';
import { clusterManagerPolicy } from '../cluster-manager/balancer';
import { grpcJsPolicyLookup } from '../grpc-js-policy/balancer';
import type { LbPolicyType } from '../lb-policy';
import type * as LeastRequest from '../least-request/balancer';
import { leastRequestConverter } from '../least-request/config';
import type * as OobReports from '../orca/oob-reports';
import type * as OobStream from '../orca/oob-stream';
import { outlierDetectionPolicies } from '../outlier-detection/balancer';
import { overrideHostPolicy } from '../override-host/balancer';
import { createPickFirstPolicyType } from '../pick-first/balancer';
import { pickFirstConverter } from '../pick-first/config';
import { createPriorityPolicyType } from '../priority/balancer';
import type * as RandomSubsetting from '../random-subsetting/balancer';
import { randomSubsettingConverter } from '../random-subsetting/config';
import type * as RingHash from '../ring-hash/balancer';
import { ringHashConverter } from '../ring-hash/config';
import { roundRobinPolicy } from '../round-robin/balancer';
import { roundRobinConverter } from '../round-robin/config';
import type * as WeightedRoundRobin from '../weighted-round-robin/balancer';
import { createClientSideWeightedRoundRobinConverter } from '../weighted-round-robin/config';
import { weightedTargetPolicy } from '../weighted-target/balancer';
import { wrrLocalityPolicy } from '../wrr-locality/balancer';
import { wrrLocalityConverter } from '../wrr-locality/config';
import type { LbConfigConverter } from './lb-config-converter';
import { LbPolicyRegistry } from './lb-policy-registry';

/** The dependencies of the policies of the process. */
export interface PolicyEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly flags: FeatureFlags;
  readonly hash: XxHash64;
  readonly limits: Limits;
}

/** Creates the registry of the load-balancing policies of this package and the converters of their xDS configs. */
export function createPolicyRegistry(environment: PolicyEnvironment): LbPolicyRegistry {
  return new LbPolicyRegistry({
    policies: [...structure(environment), ...choices(environment)],
    converters: converters(environment),
    fallback: grpcJsPolicyLookup,
  });
}

/** Returns the policies above those that choose among endpoints. */
function structure({ clock, flags }: PolicyEnvironment): readonly LbPolicyType[] {
  return [
    clusterManagerPolicy,
    createCdsPolicyType({ flags }),
    createClusterImplPolicyType({ counters: new CallCounterMap(clock) }),
    createPriorityPolicyType({ flags }),
    wrrLocalityPolicy,
    weightedTargetPolicy,
    ...(flags.outlierDetection ? outlierDetectionPolicies : []),
    ...(flags.overrideHost ? [overrideHostPolicy] : []),
  ];
}

/** Returns the policies that choose among endpoints. */
function choices(environment: PolicyEnvironment): readonly LbPolicyType[] {
  const { flags } = environment;
  return [roundRobinPolicy, createPickFirstPolicyType({ flags }), ...latePolicies(environment)];
}

function converters({ flags }: PolicyEnvironment): readonly LbConfigConverter[] {
  const customMetrics = flags.wrrCustomMetrics;
  return [
    roundRobinConverter,
    wrrLocalityConverter,
    randomSubsettingConverter,
    ...(flags.pickFirst ? [pickFirstConverter] : []),
    ...(flags.ringHash ? [ringHashConverter] : []),
    ...(flags.leastRequest ? [leastRequestConverter] : []),
    ...(flags.weightedRoundRobin
      ? [createClientSideWeightedRoundRobinConverter({ customMetrics })]
      : []),
  ];
}

const LEAST_REQUEST = 'least_request_experimental';
const RANDOM_SUBSETTING = 'random_subsetting_experimental';
const RING_HASH = 'ring_hash_experimental';
const WEIGHTED_ROUND_ROBIN = 'weighted_round_robin';

/** The policies that many processes never use: their code is loaded when a config names them. */
function latePolicies(environment: PolicyEnvironment): readonly LbPolicyType[] {
  const { flags, hash, limits } = environment;
  const weighted = memoize(() => {
    const oobReports = new (loadOobReports().OobReports)({
      ...environment,
      openStream: loadOobStream().openOobStream,
    });
    const { createWeightedRoundRobinPolicyTypes } = loadWeightedRoundRobin();
    return createWeightedRoundRobinPolicyTypes({
      customMetrics: flags.wrrCustomMetrics,
      oobReports,
    });
  });
  const weightedNames = [WEIGHTED_ROUND_ROBIN, `${WEIGHTED_ROUND_ROBIN}_experimental`];
  return [
    late(RANDOM_SUBSETTING, () =>
      loadRandomSubsetting().createRandomSubsettingPolicyType({ hash }),
    ),
    ...(flags.ringHash
      ? [
          late(
            RING_HASH,
            () => loadRingHash().createRingHashPolicyType({ hash, flags, limits }),
            true,
          ),
        ]
      : []),
    ...(flags.leastRequest
      ? [late(LEAST_REQUEST, () => loadLeastRequest().leastRequestPolicy)]
      : []),
    ...(flags.weightedRoundRobin
      ? weightedNames.map((name) => late(name, () => find(weighted(), name)))
      : []),
  ];
}

function find(types: readonly LbPolicyType[], name: string): LbPolicyType {
  const type = types.find((each) => each.name === name);
  if (type === undefined) throw new Error(`Bug: there is no policy ${name}`);
  return type;
}

/** Returns a policy that is loaded for its first config, or its first instance. */
function late(name: string, load: () => LbPolicyType, connectsOnDemand = false): LbPolicyType {
  const type = memoize(load);
  return {
    ...{ name, connectsOnDemand },
    parseConfig: (json, violations, parser) => type().parseConfig(json, violations, parser),
    create: (host) => type().create(host),
  };
}

function memoize<T>(create: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: create() }).value;
}

// `require` loads a module on first use, without waiting; the type is that of the module.
/* eslint-disable @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- see above */
function loadLeastRequest(): typeof LeastRequest {
  return require('../least-request/balancer');
}

function loadOobReports(): typeof OobReports {
  return require('../orca/oob-reports');
}

function loadOobStream(): typeof OobStream {
  return require('../orca/oob-stream');
}

function loadRandomSubsetting(): typeof RandomSubsetting {
  return require('../random-subsetting/balancer');
}

function loadRingHash(): typeof RingHash {
  return require('../ring-hash/balancer');
}

function loadWeightedRoundRobin(): typeof WeightedRoundRobin {
  return require('../weighted-round-robin/balancer');
}
