/**
 * Load reports of `@grpc/grpc-js` servers to their clients (gRFC A51): `import … from 'grpc-xds/orca'`.
 */
export type { BackendLoad, CallLoad } from './backend-load';
export { OrcaReporter, recordCallLoad } from './orca-reporter';
export type { OrcaReporterOptions } from './orca-reporter';
