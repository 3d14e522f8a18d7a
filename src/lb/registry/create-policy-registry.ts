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
import { leastRequestPolicy } from '../least-request/balancer';
import { leastRequestConverter } from '../least-request/config';
import { OobReports } from '../orca/oob-reports';
import { openOobStream } from '../orca/oob-stream';
import { outlierDetectionPolicies } from '../outlier-detection/balancer';
import { overrideHostPolicy } from '../override-host/balancer';
import { createPickFirstPolicyType } from '../pick-first/balancer';
import { pickFirstConverter } from '../pick-first/config';
import { createPriorityPolicyType } from '../priority/balancer';
import { createRandomSubsettingPolicyType } from '../random-subsetting/balancer';
import { randomSubsettingConverter } from '../random-subsetting/config';
import { createRingHashPolicyType } from '../ring-hash/balancer';
import { ringHashConverter } from '../ring-hash/config';
import { roundRobinPolicy } from '../round-robin/balancer';
import { roundRobinConverter } from '../round-robin/config';
import { createWeightedRoundRobinPolicyTypes } from '../weighted-round-robin/balancer';
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
  const { flags, hash, limits } = environment;
  const customMetrics = flags.wrrCustomMetrics;
  const oobReports = new OobReports({ ...environment, openStream: openOobStream });
  return [
    roundRobinPolicy,
    createPickFirstPolicyType({ flags }),
    createRandomSubsettingPolicyType({ hash }),
    ...(flags.ringHash ? [createRingHashPolicyType({ hash, flags, limits })] : []),
    ...(flags.leastRequest ? [leastRequestPolicy] : []),
    ...(flags.weightedRoundRobin
      ? createWeightedRoundRobinPolicyTypes({ customMetrics, oobReports })
      : []),
  ];
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
