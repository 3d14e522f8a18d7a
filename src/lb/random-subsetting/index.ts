export { createRandomSubsettingPolicyType } from './balancer';
export { randomSubsettingConverter } from './config';
