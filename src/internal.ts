/**
 * What the companions of this package use of its inside: each name with the companions that do. It is not for applications: a name
 * may change or go in any release, whatever semantic versioning would demand. Companions have `grpc-xds` as a peer of exactly their version.
 *
 * @packageDocumentation
 */

// cli
export { RbacConfig } from './authorization/rules';
// cli, relay
export type { Bootstrap, ServerConfig } from './bootstrap/bootstrap';
// cli
export { readBootstrapFile } from './bootstrap/load-bootstrap';
export { relayOfEnvironment } from './bootstrap/relay-server';
export { listenerResourceName } from './bootstrap/resource-template';
export { serverListenerName } from './bootstrap/server-listener-name';
// relay
export { AdsService } from './control-plane/ads/ads-service';
export type { ListenAddress, ListeningSocket } from './control-plane/grpc-listener';
export { LoadService } from './control-plane/lrs/load-service';
// kubernetes
export { resourceKinds, typeUrlOf } from './control-plane/resource';
// relay
export type { AdmitStream } from './control-plane/server-stream';
// cli, relay
export { ServiceHost } from './control-plane/service-host';
export type { HostedService } from './control-plane/service-host';
// kubernetes, relay
export { createResource } from './control-plane/snapshot/encoded-resource';
// relay
export { createResourceError } from './control-plane/snapshot/encoded-resource';
// page
export { describeHeldBack } from './dependency-manager/held-back';
// cli, page
export type { ClusterConfig, XdsConfig } from './dependency-manager/xds-config';
// cli
export { completeStatus } from './grpc-js/handed-over';
export { containedCallback } from './grpc-js/host-callbacks';
// relay
export { resetCall } from './grpc-js/host-internals';
// cli
export { containedHandler } from './grpc-js/server-callbacks';
// relay
export { containedUnaryHandler } from './grpc-js/server-callbacks';
// cli, relay
export { onCallEvent } from './grpc-js/server-callbacks';
// page
export { endpointChoice } from './lb/endpoints/endpoint-choice';
// relay
export { addStatusService } from './observe/admin/csds';
// page
export { describeCertificates, describeResource, describeTarget } from './observe/admin/inspect';
export type { InspectedProcess } from './observe/admin/inspected-process';
export type { ObservedProcess } from './observe/admin/observed-process';
export { resourcesAt, valuesAfter } from './observe/admin/resource-history';
export { diffValues, resourceToJson } from './observe/admin/resource-report';
export { rollUps } from './observe/admin/roll-up';
// relay
export { describeShare } from './observe/admin/share-report';
export type { ObservedClient, ObservedResource } from './observe/admin/status-queue';
// cli
export { allInstruments } from './observe/stats/instrument-table';
// page
export type { RateColumns } from './observe/rates/rate-sum';
export type { ReadRates } from './observe/rates/read-rates';
export type { GotShare } from './observe/rates/route-rates';
// relay
export { RelayInstruments } from './observe/stats/instruments';
export type { ChannelStats } from './observe/stats/stats-plugin';
// page
export { observeProcess } from './register';
// cli
export { parseTarget } from './resolver/xds-scheme';
export type { TargetName } from './resolver/xds-scheme';
export { findUnusedFields, formatUnusedField } from './resources/encoded/unused-fields';
export type { LocalityEndpoints } from './resources/endpoints/endpoints';
export type { SocketListener } from './resources/listener/listener';
// relay
export { createOpaqueType } from './resources/opaque-type';
export type { OpaqueResource } from './resources/opaque-type';
// page
export { DescribedRoute } from './routing/describe-route';
// relay
export { labelsOfType } from './runtime/client-stats';
// cli
export { readBootstrapSource } from './runtime/examine/bootstrap-source';
export type { BootstrapSource, ReadBootstrap } from './runtime/examine/bootstrap-source';
export {
  connectUpstream,
  findTargetProblem,
  prepareClient,
  validateBootstrap,
} from './runtime/examine/client-parts';
export type {
  BootstrapOrigin,
  ClientSurroundings,
  OpenedBootstrap,
  Upstream,
} from './runtime/examine/client-parts';
export {
  createConfigBuilder,
  explainGivenCall,
  resourcesOfTarget,
} from './runtime/examine/given-call';
export { describeDisplaced, observeDisplaced } from './runtime/examine/observed-transports';
export { openLoadReports, requestListener } from './runtime/examine/server-probe';
export { TargetWatch, readTarget } from './runtime/examine/target-watch';
export { describeUnusableEndpoints } from './runtime/examine/unusable';
export type { GivenResource } from './runtime/explain';
// relay
export type { InheritedResource } from './runtime/inherited-resources';
export { BOOTSTRAP } from './runtime/register-options';
// cli
export { readShare } from './runtime/register-options';
// relay
export { RelayRuntime } from './runtime/relay-runtime';
export type { OpenRelayClient, RelayClient } from './runtime/relay-runtime';
export type { RelayChoices, Shares, SharesOptions } from './runtime/shares';
// cli
export { parseCertificateFiles } from './security/providers/certificate-files';
export { explainGivenRequest } from './server/explain/given-servers';
export { createResourceJudge } from './server/explain/resource-judge';
export { ServerWatch } from './server/explain/server-watch';
export { watchListener } from './server/explain/server-watch';
export { describeWrongActions } from './server/routes/wrong-actions';
export { decodeToJson, hasMessage } from './wire/proto-json/encode-json';
// cli, kubernetes
export { encodeJson } from './wire/proto-json/encode-json';
export { YamlDocument } from './wire/proto-json/yaml-document';
// cli
export { formatYaml } from './wire/proto-json/yaml-document';
// relay
export type { ClientEvents } from './xds-client/client-snapshot';
// page
export type { ClientSnapshot, ResourceChange } from './xds-client/client-snapshot';
// cli, page, relay
export type { ResourceSnapshot } from './xds-client/client-snapshot';
// relay
export type { LocalityLoad } from './xds-client/lrs/cluster-load';
export { LoadReporter } from './xds-client/lrs/load-reporter';
export type { LoadReference } from './xds-client/lrs/load-reporter';
export type { LrsResponse } from './xds-client/lrs/lrs-response';
// cli
export { parseResourceName } from './xds-client/resource-name';
// cli, relay
export type { ResourceType } from './xds-client/resource-type';
// relay
export type { ResourceWatcher, WatchError } from './xds-client/resource-watcher';
// cli
export { isDisplaced } from './xds-client/stream-ends';
// cli, relay
export type { StreamStatus, XdsStream, XdsTransport } from './xds-client/transport';
// relay
export type { XdsStreamHandler } from './xds-client/transport';
export type { XdsClient } from './xds-client/xds-client';
