/**
 * Servers of `@grpc/grpc-js`: `import … from 'grpc-xds/server'`.
 *
 * @packageDocumentation
 */
export { createReloadingServerCredentials } from './credentials/reloading-server-credentials';
export type {
  CertificateFilesSource,
  CertificateProviderSource,
  ClientRevocationLists,
  ClientTrust,
  ReloadingServerCredentialsOptions,
  SecretDiscoverySource,
} from './credentials/reloading-server-credentials';

// For the identity of the client of a call.
export { peerIdentity } from '../security/peer/peer-identity';
export type { AuthenticatedCall, PeerIdentity } from '../security/peer/tls-connections';
export type { ConnectionEnds } from '../util/connection-ends';

// For authorization by a policy.
export { createAuthorizationInterceptor } from '../authorization/authorization-interceptor';
export type {
  AuthorizationInterceptor,
  AuthorizationInterceptorOptions,
} from '../authorization/authorization-interceptor';
export type {
  AuditLoggingOptions,
  AuthorizationPolicy,
  AuthorizationRule,
} from '../authorization/authorization-policy';
export { registerAuditLogger } from '../authorization/audit-logger';
export type { AuditEvent, AuditLogger, AuditLoggerDefinition } from '../authorization/audit-logger';

// Servers that a control plane configures.
export { XdsServer } from './xds-server';
export type { ServingStatusListener } from './xds-server';
export type {
  ServingState,
  ServingStateListener,
  XdsOptions,
  XdsServerOptions,
} from './xds-server-options';
export { createXdsServerCredentials, XdsServerCredentials } from './xds-server-credentials';
