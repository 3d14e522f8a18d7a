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
