// cli, relay
export type { Bootstrap, JsonValue, NodeConfig, ServerConfig } from './bootstrap/bootstrap';
// relay
export { resolveLimits } from './bootstrap/limits';
// cli, relay
export { loadBootstrap, readBootstrapFile } from './bootstrap/load-bootstrap';
// cli
export { relayOfEnvironment } from './bootstrap/relay-server';
// cli
export { listenerResourceName } from './bootstrap/resource-template';
// cli
export { serverListenerName } from './bootstrap/server-listener-name';
// relay
export { AdsService } from './control-plane/ads/ads-service';
// relay
export type { ListenAddress, ListeningSocket } from './control-plane/grpc-listener';
// relay
export { LoadService } from './control-plane/lrs/load-service';
// kubernetes
export { resourceKinds, typeUrlOf } from './control-plane/resource';
// relay
export type { AdmitStream } from './control-plane/server-stream';
// cli, relay
export { ServiceHost } from './control-plane/service-host';
export type { HostedService } from './control-plane/service-host';
// kubernetes, relay
export { createResource, createResourceError } from './control-plane/snapshot/encoded-resource';
// page
export { describeHeldBack } from './dependency-manager/held-back';
// cli, page
export type { ClusterChildren, ClusterConfig, XdsConfig } from './dependency-manager/xds-config';
// cli
export { completeStatus } from './grpc-js/handed-over';
// cli
export { containedCallback } from './grpc-js/host-callbacks';
// relay
export { resetCall } from './grpc-js/host-internals';
// cli, relay
export { containedHandler, containedUnaryHandler, onCallEvent } from './grpc-js/server-callbacks';
// page
export { endpointChoice } from './lb/endpoints/endpoint-choice';
// page
export { firstAddress } from './lb/endpoints/endpoint-key';
// relay
export type { PolicyEnvironment } from './lb/registry/policy-table';
// page
export { RING_HASH } from './lb/ring-hash/config';
// page
export { rollUpPolicy } from './observe/admin/roll-up';
// page
export { WEIGHTED_TARGET } from './lb/weighted-target/config';
// relay
export { createCsdsHandlers, csdsDefinition } from './observe/admin/csds';
// page
export {
  describeCertificates,
  describeResource,
  describeTarget,
  inspectProcess,
  resolutionOf,
} from './observe/admin/inspect';
export type { InspectedProcess } from './observe/admin/inspect';
// page
export type { ObservedProcess } from './observe/admin/observed-process';
// page
export { processServers } from './observe/admin/process-servers';
// page
export { resourcesAt, valuesAfter } from './observe/admin/resource-history';
// page
export { diffValues, resourceToJson } from './observe/admin/resource-report';
// relay
export { describeShare } from './observe/admin/share-report';
// relay
export type { ObservedClient, ObservedResource } from './observe/admin/status-queue';
// cli
export { allInstruments } from './observe/opentelemetry/metrics-plugin';
// page
export { processRates } from './observe/rates/process-rates';
// page
export type { RateColumns } from './observe/rates/rate-sum';
// page
export { ReadRates } from './observe/rates/read-rates';
// page
export type { GotShare, RouteKey } from './observe/rates/route-rates';
// relay
export { RelayInstruments } from './observe/stats/instruments';
// relay
export type { ChannelStats } from './observe/stats/stats-plugin';
// relay
export { processStats } from './observe/stats/stats-registry';
// page
export { closeAtShutdown, observeProcess } from './register';
// cli
export { parseTarget } from './resolver/xds-scheme';
export type { TargetName } from './resolver/xds-scheme';
// cli
export type { ClusterResource } from './resources/cluster/cluster';
// cli
export { findUnusedFields, formatUnusedField } from './resources/encoded/unused-fields';
// cli, page
export { noMetadata } from './resources/endpoints/endpoints';
export type {
  EndpointsResource,
  LocalityEndpoints,
  PriorityEndpoints,
  SocketAddress,
  XdsEndpoint,
} from './resources/endpoints/endpoints';
// relay
export { createOpaqueType } from './resources/opaque-type';
export type { OpaqueResource } from './resources/opaque-type';
// page
export type { Route, VirtualHost } from './resources/route-config/route-config';
// page
export { describeAction, describeMatch, sharesOf } from './routing/describe-route';
// page
export { routeKey } from './routing/route-key';
// relay
export { ClientStats, labelsOfType } from './runtime/client-stats';
// cli
export { readBootstrapSource } from './runtime/examine/bootstrap-source';
export type { BootstrapSource, ReadBootstrap } from './runtime/examine/bootstrap-source';
// cli
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
// cli
export {
  createConfigBuilder,
  explainGivenCall,
  resourcesOfTarget,
} from './runtime/examine/given-call';
// cli
export { describeDisplaced, observeDisplaced } from './runtime/examine/observed-transports';
// cli
export { openLoadReports, requestListener } from './runtime/examine/server-probe';
// cli
export { TargetWatch, readTarget } from './runtime/examine/target-watch';
// cli
export { describeUnusableEndpoints } from './runtime/examine/unusable';
// cli
export type { GivenResource } from './runtime/explain';
// cli, relay
export { BOOTSTRAP, readShare } from './runtime/register-options';
// relay
export { createRelayClients } from './runtime/relay-client';
export type { OpenRelayClient, RelayClient } from './runtime/relay-client';
// relay
export { createServerAccess } from './runtime/server-access';
export type { ServerAccess } from './runtime/server-access';
// relay
export type { RelayChoices, SharedOptions, Shares, SharesOptions } from './runtime/shares';
// cli
export { parseCertificateFiles } from './security/providers/certificate-files';
export type { CertificateFilesConfig } from './security/providers/certificate-files';
// cli
export { explainGivenRequest } from './server/explain/explain-given-request';
// cli
export { createResourceJudge } from './server/explain/resource-judge';
export type { SentResource } from './server/explain/resource-judge';
// cli
export type { ServedListener } from './server/explain/served-listener';
// cli
export { ServerWatch } from './server/explain/server-watch';
// cli
export { watchListener } from './server/explain/watched-listener';
export type { WatchedListener } from './server/explain/watched-listener';
// relay
export { XxHash64 } from './util/hashes';
// cli, relay
export { channelTarget, serverProtocol, socketPathOf } from './util/server-uri';
// cli, kubernetes
export { decodeToJson, encodeJson, hasMessage } from './wire/proto-json/encode-json';
// cli, kubernetes, page
export { YamlDocument, formatYaml } from './wire/proto-json/yaml-document';
// cli, page, relay
export type {
  ClientEvents,
  ClientSnapshot,
  KeptValue,
  ResourceChange,
  ResourceHistory,
  ResourceSnapshot,
} from './xds-client/client-snapshot';
// relay
export type { LocalityLoad } from './xds-client/lrs/cluster-load';
// relay
export { LoadReporter } from './xds-client/lrs/load-reporter';
export type { LoadReference } from './xds-client/lrs/load-reporter';
// relay
export type { LrsResponse } from './xds-client/lrs/lrs-response';
// relay
export type { MetricField, MetricTotals } from './xds-client/lrs/metrics';
// relay
export type { UserAgent } from './xds-client/management-servers';
// cli, relay
export { parseOpaqueName, parseResourceName } from './xds-client/resource-name';
export type { ResourceName } from './xds-client/resource-name';
// cli, relay
export type { ResourceType } from './xds-client/resource-type';
// relay
export type { ResourceWatcher, WatchError } from './xds-client/resource-watcher';
// relay
export type { SavedFinder, SavedSource } from './xds-client/saved-snapshot/saved-start';
// relay
export type { SavedResource, SavedValue } from './xds-client/saved-snapshot/snapshot-file';
// cli
export { isDisplaced } from './xds-client/stream-ends';
// cli, relay
export type {
  ConnectionOptions,
  StreamHeaders,
  StreamStatus,
  XdsStream,
  XdsStreamHandler,
  XdsTransport,
  XdsTransportFactory,
} from './xds-client/transport';
// relay
export type { WatchClient } from './xds-client/xds-client';
