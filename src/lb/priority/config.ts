import type { LbConfig } from '../../resources/extension-points';

export const PRIORITY = 'priority_experimental';

/** One child of `priority_experimental`. */
export interface PriorityChildConfig {
  readonly config: LbConfig;
  /** Whether requests of the child for re-resolution are ignored (gRFC A37). */
  readonly ignoreReresolutionRequests: boolean;
}

/** The config of `priority_experimental` (gRFC A56). */
export class PriorityConfig implements LbConfig {
  readonly policyName = PRIORITY;

  /** @param priorities The children by name, in the order of their priorities, best first. */
  constructor(readonly priorities: ReadonlyMap<string, PriorityChildConfig>) {}
}
