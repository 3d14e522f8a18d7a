/**
 * `grpc-xds/orca`: lets a server of `@grpc/grpc-js` report its load to its clients (gRFC A51).
 */
export type { BackendLoad, CallLoad } from './backend-load';
export { recordCallLoad } from './call-recorder';
export { OrcaReporter } from './orca-reporter';
export type { OrcaReporterOptions } from './orca-reporter';
export type { Clock } from '../util/clock';
export type { Handle } from '../util/handle';
