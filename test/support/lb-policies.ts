import { createCdsPolicyType } from '../../src/lb/cds/balancer';
import { createPriorityPolicyType } from '../../src/lb/priority/balancer';

export const cdsPolicy = createCdsPolicyType();

/** The policy without the cache of removed children, as by default. */
export const priorityPolicy = createPriorityPolicyType({ flags: { priorityChildCache: false } });
