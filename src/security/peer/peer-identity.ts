import { checkArgument, withMethods } from '../../util/check-arguments';
import { lazy } from '../../util/lazy';
import type * as TlsConnections from './tls-connections';
import type { AuthenticatedCall, PeerIdentity } from './tls-connections';

/** Loaded lazily, because few processes read the names of a peer before there is a channel. */
const loadTlsConnections = lazy<typeof TlsConnections>(() => require('./tls-connections'));

const CALL = withMethods('a call of @grpc/grpc-js 1.14 or later', 'getAuthContext');

/**
 * Returns the identity that the peer of a call has proved by its certificate: SPIFFE id, names and certificate. On a client, call
 * it once the call has a connection: from the first response metadata on. On a server, it takes what handlers of each kind of call
 * are called with, and the calls of server interceptors, whatever the credentials of the server are.
 *
 * @returns `undefined` if the connection is not secured by TLS, the peer presented no verified certificate, or its
 * certificate has more than 1,000 names or an invalid one.
 *
 * @example
 * ```ts
 * import type { ServerUnaryCall } from '@grpc/grpc-js';
 * import { peerIdentity } from 'grpc-xds';
 *
 * function greet(call: ServerUnaryCall<object, object>): string {
 *   return `hello ${peerIdentity(call)?.spiffeId ?? 'stranger'}`;
 * }
 * ```
 */
export function peerIdentity(call: AuthenticatedCall): PeerIdentity | undefined {
  checkArgument('peerIdentity()', 'call', call, CALL);
  const certificate = call.getAuthContext()?.sslPeerCertificate;
  // Node.js gives an empty object for a server without a certificate.
  if (certificate !== undefined && !('raw' in certificate)) return undefined;
  const tls = loadTlsConnections().tlsConnectionOf(call);
  return tls.ok ? tls.value?.peer : undefined;
}
