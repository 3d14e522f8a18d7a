/**
 * grpc-xds: the xDS client for `@grpc/grpc-js`.
 *
 * @packageDocumentation
 */
export {
  dumpOnSignal,
  explainCall,
  explainResources,
  inspect,
  ready,
  register,
  shutdown,
} from './register';
export type {
  CallCounts,
  CertificatesReport,
  CertificateState,
  ChangeReport,
  ChannelReport,
  InspectOptions,
  InspectReport,
  ResourceReport,
  SocketReport,
  SubchannelReport,
  TargetReport,
  HeldBackReport,
} from './observe/admin/inspect-report';
export type {
  FilterChainReport,
  HandshakeFailureReport,
  RecentCallsReport,
  RefusalReport,
  ServerCallsReport,
  ServerConnectionsReport,
  ServerReport,
} from './observe/admin/server-report';
export type { ShareReport } from './observe/admin/share-report';
export type { Difference } from './wire/proto-json/json-diff';
export type {
  ChildState,
  EndpointState,
  PolicyParts,
  PolicyState,
  StateDetails,
  StateName,
} from './lb/tree/policy-state';
export type { RollUp, RollUpState } from './observe/admin/roll-up';
export type { ResourceStatus, ServerSnapshot } from './xds-client/client-snapshot';
export type { RegisterOptions, ShutdownOptions } from './runtime/register-options';
export type { ReadyChannel, ReadyClient, ReadyOptions } from './runtime/ready';
export type {
  BootstrapAuthorityConfig,
  BootstrapConfig,
  BootstrapNodeConfig,
  CertificateProviderInstanceConfig,
  CredentialEntry,
  DurationText,
  ManagementServerConfig,
} from './bootstrap/bootstrap-config';
export type { Limits } from './bootstrap/limits';
export type { ChildChannelFactory, ChildChannelOptions } from './grpc-js/child-channel-options';
export type { Closable } from './util/handle';
export type { LevelLogger } from './util/application-logger';
export type { LogFields, LogLevel, LogRecord, XdsLogger } from './util/logger';
export type {
  CallExplanation,
  ClusterExplanation,
  RouteDecision,
  RouteOutcome,
  RoutedCall,
  RouteTrial,
  UnroutedCall,
  UnusedFields,
} from './resolver/explain-call';
export type { RetryPolicy, RetryableCode } from './resources/route-config/route-config';

// What all functions throw, also those of the other entries and of the companions.
export { XdsError } from './util/xds-error';
export type { XdsErrorCode } from './util/xds-error';

// For channel credentials of the application.
export type { ChannelCredentialsDefinition } from './security/credentials/define-channel-credentials';
export { registerChannelCredentials } from './extend';

// For TLS as the control plane configures it.
export {
  createXdsChannelCredentials,
  XdsChannelCredentials,
} from './security/client/xds-channel-credentials';

// For certificate providers of the application.
export type {
  CertificateProviderDefinition,
  CertificateWatcher,
  CustomCertificateProvider,
  CustomIdentity,
  CustomRevocation,
  CustomRoots,
} from './security/providers/define-certificate-provider';
export type { CrlProvider } from './security/revocation/provided-lists';
export { registerCertificateProvider } from './extend';

// For the identity of the other side of a call.
export { peerIdentity } from './security/peer/peer-identity';
export type { AuthenticatedCall, PeerIdentity } from './security/peer/tls-connections';
export type { ConnectionEnds } from './util/connection-ends';

// For HTTP filters of the application.
export { CallFailedError } from './http-filters/call-filter';
export type { CallAffinity, CallFailure, CallFilter, CallInfo } from './http-filters/call-filter';
export type {
  FilterConfigInput,
  HttpFilterDefinition,
  RequestFilter,
} from './http-filters/define-http-filter';
export type { AuthorizationRequest, PeerNames } from './authorization/request';
export { registerHttpFilter } from './extend';

// For load-balancing policies of the application.
export type {
  CustomLbPolicy,
  LbCall,
  LbConnection,
  LbConnectionState,
  LbEndpoint,
  LbEndpointMetadata,
  LbLocality,
  LbPicker,
  LbPolicyConfigInput,
  LbPolicyDefinition,
  LbPolicyHost,
  LbPolicyUpdate,
  LbPublishedState,
} from './lb/custom/definition';
export { registerLbPolicy } from './extend';

// For cluster specifier plugins of the application.
export type {
  ClusterSpecifierConfigInput,
  ClusterSpecifierPluginDefinition,
} from './lb/cluster-specifiers/definition';
export { registerClusterSpecifierPlugin } from './extend';

// What is published on `node:diagnostics_channel`.
export type {
  CallRefusedEvent,
  ClusterEvent,
  ConfigFailedEvent,
  ConfigPublishedEvent,
  DiagnosticEvent,
  DiagnosticEvents,
  EndpointEjectedEvent,
  EndpointEvent,
  EndpointUnejectedEvent,
  FallbackEvent,
  ResourceAcceptedEvent,
  ResourceEventBase,
  ResourceMissingEvent,
  ResourceNackedEvent,
  ResourceProblem,
  ResourceStaleEvent,
  ResourceWaitingEvent,
  ServerEvent,
  ServerFailedEvent,
  ServingStateEvent,
  TlsHandshakeEvent,
  TlsHandshakeResult,
  TlsNotUsedEvent,
} from './xds-client/diagnostics';
