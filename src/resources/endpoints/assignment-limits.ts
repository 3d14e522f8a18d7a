import { DEFAULT_LIMITS } from '../../bootstrap/limits';
import type { Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import { countElements } from '../encoded/sliced-message';

/** Localities of one assignment. Each is a policy with connections of its own, of several KiB. */
export const MAX_LOCALITIES = 5000;

/** Priorities of one assignment, each of which is a policy once it is in use. Envoy allows 129. */
export const MAX_PRIORITIES = 1000;

/** Drop categories of one assignment, each of which takes part in every call. */
export const MAX_DROP_CATEGORIES = 100;

/** Additional addresses of one endpoint, each of which is a subchannel when the endpoint is connected to. */
export const MAX_ADDITIONAL_ADDRESSES = 32;

/** Characters of a hash key, which `ring_hash` hashes again for each entry of the ring. */
export const MAX_HASH_KEY_LENGTH = 4096;

/** Characters of the hostname of an endpoint, which is in texts about its connections. A host name of DNS has up to 253. */
export const MAX_HOSTNAME_LENGTH = 4096;

/** A bound on the elements of a repeated message field of an assignment. */
interface ElementBound {
  /** The numbers of the fields that lead to the elements. */
  readonly path: readonly number[];
  /** The same as names. */
  readonly fields: readonly string[];
  readonly max: number;
  readonly noun: string;
}

const BOUNDS: readonly ElementBound[] = [
  { path: [2], fields: ['endpoints'], max: MAX_LOCALITIES, noun: 'localities' },
  {
    ...{ path: [4, 2], fields: ['policy', 'drop_overloads'] },
    ...{ max: MAX_DROP_CATEGORIES, noun: 'drop categories' },
  },
];

/** Rejects an encoded assignment with too many localities or drop categories, before it is decoded. */
export function* checkAssignmentSize(bytes: Uint8Array, violations: Violations): Steps<void> {
  for (const { path, fields, max, noun } of BOUNDS) {
    // Every element has at least a tag and a length.
    if (bytes.length <= 2 * max || (yield* countElements(bytes, path, max)) <= max) continue;
    let at = violations;
    for (const field of fields) at = at.at(field);
    at.add(`more than ${max} ${noun}`);
    return;
  }
}

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
