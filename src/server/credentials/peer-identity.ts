import {
  type ClientIdentity,
  tlsConnectionOf,
  type ServerCall,
} from '../../security/peer/tls-connections';
import { checkArgument, withMethods } from '../../util/check-arguments';

const CALL = withMethods('a server call of @grpc/grpc-js 1.14 or later', 'getAuthContext');

/**
 * Returns the identity that the client of a server call has proved by its certificate: SPIFFE id, names and certificate. For
 * what handlers of each kind of call are called with, and for the calls of server interceptors; whatever the credentials of
 * the server are.
 *
 * @returns `undefined` if the connection is not secured by TLS, or the client presented no certificate that was verified.
 *
 * @example
 * ```ts
 * import type { ServerUnaryCall } from '@grpc/grpc-js';
 * import { peerIdentity } from 'grpc-xds/server';
 *
 * function greet(call: ServerUnaryCall<object, object>): string {
 *   return `hello ${peerIdentity(call)?.spiffeId ?? 'stranger'}`;
 * }
 * ```
 */
export function peerIdentity(call: ServerCall): ClientIdentity | undefined {
  checkArgument('peerIdentity()', 'call', call, CALL);
  return tlsConnectionOf(call)?.peer;
}
