/** What the names of types begin with in an `Any`. */
export const TYPE = 'type.googleapis.com';
/** The load-balancing policies. */
export const LB = `${TYPE}/envoy.extensions.load_balancing_policies`;
/** The HTTP filters. */
export const HTTP = `${TYPE}/envoy.extensions.filters.http`;
