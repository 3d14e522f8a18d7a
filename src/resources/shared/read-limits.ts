import type { ReadLimit } from '../../util/read-budget';

// How many fields a resource may have of which pieces are decoded one by one, in steps. Any other resource is decoded in one
// turn, within the limit of one message.

/** A route configuration, or the listener that has one: some 300,000 routes. */
export const ROUTES_LIMIT: ReadLimit = { maxFields: 2_000_000, scope: 'resource' };

/** An endpoint assignment, or a collection of endpoints: more than 200,000 endpoints with ten fields each. */
export const ENDPOINTS_LIMIT: ReadLimit = { maxFields: 4_000_000, scope: 'resource' };
