export { failurePercentageEjections, successRateEjections } from './choose-ejections';
export { ObservedEndpoints } from './observed-endpoints';
