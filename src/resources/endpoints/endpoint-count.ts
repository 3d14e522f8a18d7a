import { DEFAULT_LIMITS } from '../../bootstrap/limits';
import type { Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import { countElements } from '../wire/sliced-message';

/** The endpoints to count in an encoded resource. */
export interface EndpointCount {
  /** Of the repeated message fields that are counted, each on its own. */
  readonly paths: readonly (readonly number[])[];
  /** Default: that of `Limits.maxEndpointsPerAssignment`. */
  readonly max?: number | undefined;
}

/**
 * Rejects a resource with too many endpoints before it is decoded: a decoded endpoint takes some fifty times the memory
 * of its bytes.
 */
export function* checkEndpointCount(
  bytes: Uint8Array,
  { paths, max = DEFAULT_LIMITS.maxEndpointsPerAssignment }: EndpointCount,
  violations: Violations,
): Steps<void> {
  // Every element has at least a tag and a length.
  if (bytes.length <= 2 * max) return;
  for (const path of paths) {
    if ((yield* countElements(bytes, path, max)) <= max) continue;
    violations.add(`exceed the limit maxEndpointsPerAssignment of ${max}`);
    return;
  }
}
