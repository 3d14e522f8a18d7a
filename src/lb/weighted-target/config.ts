import type { LbConfig } from '../../resources/extension-points';

export const WEIGHTED_TARGET = 'weighted_target_experimental';

export interface WeightedTarget {
  /** Relative to the other targets; 1 to 4,294,967,295. */
  readonly weight: number;
  readonly childPolicy: LbConfig;
}

/** The config of `weighted_target_experimental` (gRFC A28). */
export class WeightedTargetConfig implements LbConfig {
  readonly policyName = WEIGHTED_TARGET;

  constructor(readonly targets: ReadonlyMap<string, WeightedTarget>) {}
}
