import { createCdsPolicyType } from '../../src/lb/cds/balancer';
import { createPriorityPolicyType } from '../../src/lb/priority/balancer';

/** The policy under which each leaf of an aggregate cluster has its own policy, as by default. */
export const cdsPolicy = createCdsPolicyType({ flags: { aggregateClusterBackwardCompat: false } });

/** The policy without the cache of removed children, as by default. */
export const priorityPolicy = createPriorityPolicyType({ flags: { priorityChildCache: false } });
