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

/** Describes that an assignment or a collection has more endpoints than it may. */
export function tooManyEndpoints(max: number): string {
  return `exceed the limit maxEndpointsPerAssignment of ${max}`;
}
