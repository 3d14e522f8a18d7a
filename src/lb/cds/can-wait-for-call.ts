import type { EndpointsResource } from '../../resources/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import type { LbPolicyLookup } from '../lb-policy';

/**
 * Whether what makes a cluster usable may be made when the first call wants it: nothing would be connected
 * before that anyway. Without endpoints the cluster has failed, and had better say so.
 */
export function canWaitForCall(
  policies: LbPolicyLookup,
  { policyName }: LbConfig,
  { priorities }: EndpointsResource,
): boolean {
  if (policies.get(policyName)?.connectsOnDemand !== true) return false;
  const [first] = priorities;
  return first?.localities.some(({ endpoints }) => endpoints.length > 0) === true;
}
