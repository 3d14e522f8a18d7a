export { createRingHashPolicyType } from './balancer';
export { ringHashConverter } from './config';
