export { OobReports } from '../orca/oob-reports';
export { openOobStream } from '../orca/oob-stream';
export { createWeightedRoundRobinPolicyTypes } from './balancer';
