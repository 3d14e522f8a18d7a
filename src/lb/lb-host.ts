import { createChildChannelControlHelper } from '../grpc-js';
import type { LbHelper } from '../grpc-js';
import type { LbHost } from './lb-policy';

/** The host of a child: asks the parent's host, except for what the parent answers itself. */
export function createChildHost(host: LbHost, overrides: Partial<LbHelper>): LbHost {
  return {
    ...createChildChannelControlHelper(host, overrides),
    environment: host.environment,
    depth: host.depth + 1,
  };
}
