/**
 * An xDS management server for development and tests: `import … from 'grpc-xds/control-plane'`.
 */

// The server.
export { ControlPlane } from './control-plane';
export type {
  ClientBootstrap,
  ControlPlaneOptions,
  ListeningAddress,
  CloseOptions,
} from './control-plane';
export type { Authenticate, AuthenticationRequest, AuthenticationResult } from './authentication';
export type { Principal } from './client-state';
export type { ClientStream, ClientNode } from './client-state';
export type { ClientEvent, ClientState, Rejection, TypeState } from './client-state';

// Other sources of resources than snapshots.
export type {
  Refusal,
  ResourceView,
  ServedResources,
  SubscriptionChange,
} from './ads/resource-view';
export type { ServedSet } from './resource';

// Load reports.
export type { LoadReporting } from './lrs/load-service';
export type { ClusterLoad, LoadReport, LocalityLoad, MetricSum } from './lrs/load-totals';

// Snapshots.
export { Snapshot } from './snapshot/snapshot';
export type { SnapshotInput } from './snapshot/snapshot';
export type { ServiceOptions, Services } from './snapshot/services';
export type { ServerListenerOptions, Servers, ServerSecurity } from './snapshot/servers';
export type { SetSnapshotOptions } from './snapshot/snapshot-store';
export type { EncodedResource, ResourceInput, ResourceJson } from './snapshot/resource-input';
export type { JsonOptions } from '../wire/proto-json/encode-json';
export {
  clusterKind,
  endpointKind,
  findResourceKind,
  listenerKind,
  otherResourceKind,
  routeKind,
} from './resource';
export type { ResourceKind } from './resource';
export type { ResourceError, ResourceErrorInput, ResourceSet, SnapshotResource } from './resource';
export { XdsError } from '../util/xds-error';
export type { XdsErrorCode } from '../util/xds-error';
export { SnapshotError } from './snapshot/snapshot-builder';
export type { SnapshotProblem } from './snapshot/snapshot-builder';
export type { JsonProblem, PathSegment } from '../wire/proto-json/json-problem';
export { checkConsistency, ConsistencyError } from './snapshot/consistency';

// Snapshots from files.
export {
  loadResourceFile,
  openResourceFile,
  openResourceText,
  parseResourceFile,
  ResourceFileError,
} from './snapshot/resource-file';
export {
  watchResourceFile,
  type ResourceFileListener,
  type ResourceFileWatchOptions,
} from './snapshot/resource-file';
export type {
  ResourceFileContent,
  ResourceFileOptions,
  ResourceFileProblem,
  ResourceFileProblemKind,
} from './snapshot/resource-file';
export type { StartOptions } from '../util/abort';
export type { Closable } from '../util/handle';
export type { TextPosition } from '../wire/proto-json/yaml-document';
