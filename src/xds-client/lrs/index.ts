export { LrsStream } from './lrs-stream';
export { parseMetricRules } from './metrics';
export { ServerLoads } from './server-loads';
