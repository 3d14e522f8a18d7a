import type { LbConfig } from '../../resources/extension-points';
import type { RandomSubsettingConfig } from '../random-subsetting/config';
import { RING_HASH } from '../ring-hash/config';
import { WrrLocalityConfig } from '../wrr-locality/config';

/** What divides the calls of a cluster among its localities and endpoints. */
interface EndpointChoice {
  /** The policy that chooses an endpoint, such as `round_robin`. */
  readonly policy: string;
  /** Whether it does so within a locality that the weights of localities have chosen before (gRFC A52). */
  readonly isWithinLocality: boolean;
  /** Whether the weights of endpoints count, which are shares of those of localities (gRFCs A42 and A113). */
  readonly goesByWeight: boolean;
}

/** Finds it in the policies of a cluster. */
export function endpointChoice(config: LbConfig): EndpointChoice {
  let isWithinLocality = false;
  let inner = config;
  while (inner instanceof WrrLocalityConfig || isSubsetting(inner)) {
    isWithinLocality ||= inner instanceof WrrLocalityConfig;
    inner = inner.childPolicy;
  }
  const { policyName } = inner;
  const policy = policyName.replace(/_experimental$/, '');
  const goesByWeight = policyName === RING_HASH || policyName === 'maglev_experimental';
  return { policy, isWithinLocality, goesByWeight };
}

/** By its name: the policy is loaded when a cluster has it. */
function isSubsetting(config: LbConfig): config is RandomSubsettingConfig {
  return config.policyName === 'random_subsetting_experimental' && 'childPolicy' in config;
}
