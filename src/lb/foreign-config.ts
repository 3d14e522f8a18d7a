import type { LbConfig } from '../resources/extension-points';
import type { LbHost } from './lb-policy';

/**
 * Logs that a policy was handed a config that is not of its class, which is a bug of whoever made it.
 *
 * @returns What picks fail with if the policy has nothing else to go by.
 */
export function reportForeignConfig(host: LbHost, policyName: string, config: LbConfig): string {
  const text = `${policyName} was given a config of ${config.policyName} that it cannot use`;
  host.environment.logger.error(() => text);
  return text;
}
