import { createChildChannelControlHelper } from '../grpc-js';
import type { LbHelper } from '../grpc-js';
import type { LbHost } from './lb-policy';

/** Creates the host of a child: the host of the parent, except for the requests that the parent serves itself. */
export function createChildHost(host: LbHost, overrides: Partial<LbHelper>): LbHost {
  return {
    ...createChildChannelControlHelper(host, overrides),
    environment: host.environment,
    depth: host.depth + 1,
  };
}
