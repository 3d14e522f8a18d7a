import type { Limits } from '../../bootstrap/limits';
import type { XxHash64 } from '../../util/xx-hash';
import type { Clock } from '../../util/clock';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';

/** The dependencies of the policies of the process. */
export interface PolicyEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly flags: FeatureFlags;
  readonly hash: XxHash64;
  readonly limits: Limits;
}
