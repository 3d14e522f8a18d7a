export { createPickFirstPolicyType } from './balancer';
export { pickFirstConverter } from './config';
