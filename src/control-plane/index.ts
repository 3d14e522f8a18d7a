/**
 * An xDS management server for development and tests: `import … from 'grpc-xds/control-plane'`.
 */

// The server.
export { ControlPlane } from './control-plane';
export type {
  ControlPlaneOptions,
  ListeningAddress,
  SetSnapshotOptions,
} from './control-plane-options';
export type {
  ClientEvent,
  ClientIdentity,
  ClientNode,
  ClientRequest,
  ClientState,
  DeltaClientRequest,
  Rejection,
  TypeState,
} from './client-state';
export type { ImitatedServer } from './imitation';
export type { NodeMetadata } from './node-metadata';

// What clients report.
export type { LoadReporting } from './load-stream';
export type { ClusterLoad, LoadReport, LocalityLoad, MetricSum } from './load-report';

// What it serves.
export { Snapshot } from './snapshot';
export type { SnapshotInput } from './snapshot';
export type { EncodedResource, ResourceInput } from './resource-draft';
export type { ResourceError, ResourceErrorInput } from './resource-error';
export type { JsonOptions } from '../proto-json/encode-json';
export {
  clusterKind,
  endpointKind,
  findResourceKind,
  listenerKind,
  otherResourceKind,
  routeKind,
} from './resource-kind';
export type { ResourceKind } from './resource-kind';
export type { ResourceSet, SnapshotResource } from './resource-set';
export { SnapshotError } from './snapshot-problem';
export type { SnapshotProblem } from './snapshot-problem';
export type { JsonProblem, PathSegment } from '../proto-json/json-problem';
export { checkConsistency, ConsistencyError } from './consistency';

// Snapshots from files.
export { loadResourceFile, parseResourceFile, ResourceFileError } from './resource-file';
export type { ResourceFileOptions, ResourceFileProblem } from './resource-file';
export { watchResourceFile } from './resource-file-watch';
export type { ResourceFileListener } from './resource-file-watch';
export type { FileWatchOptions } from '../util/file-watch';
export type { TextPosition } from '../proto-json/yaml-document';
