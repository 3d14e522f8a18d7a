export { leastRequestPolicy } from './balancer';
export { leastRequestConverter } from './config';
