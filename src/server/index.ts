/**
 * Servers of `@grpc/grpc-js`: `import … from 'grpc-xds/server'`.
 *
 * @packageDocumentation
 */
export { createReloadingServerCredentials } from './credentials/reloading-server-credentials';
export type {
  CertificateFilesSource,
  CertificateProviderSource,
  ClientTrust,
  ReloadingServerCredentialsOptions,
  SecretDiscoverySource,
} from './credentials/reloading-server-credentials';

// For the identity of the client of a call.
export { peerIdentity } from './credentials/peer-identity';
export type { ClientIdentity, ConnectionEnds, ServerCall } from '../security/peer/tls-connections';

// For authorization by a policy.
export { createAuthorizationInterceptor } from '../http-filters/rbac/authorization-interceptor';
export type {
  AuthorizationInterceptor,
  AuthorizationInterceptorOptions,
} from '../http-filters/rbac/authorization-interceptor';
export type {
  AuditLoggingOptions,
  AuthorizationPolicy,
  AuthorizationRule,
} from '../http-filters/rbac/authorization-policy';
export { registerAuditLogger } from '../http-filters/rbac/process-audit-loggers';
export type {
  AuditEvent,
  AuditLogger,
  AuditLoggerDefinition,
} from '../http-filters/rbac/audit-logger';
