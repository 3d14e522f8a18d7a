/*
 * The parsers of what many resources do not have. They are loaded for the first resource that has one.
 */

export { parseOutlierDetection } from './cluster/outlier-detection-parser';
export { parseRegex } from './matching/string-matcher-parser';
export { parseHashPolicies } from './route-config/hash-policy-parser';
export { parseHeaderMatcher } from './route-config/header-matcher-parser';
export { parseRetryPolicy } from './route-config/retry-policy-parser';
