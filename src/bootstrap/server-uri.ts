import { isIPv4, isIPv6 } from 'node:net';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';

/** The protocol of a management server. */
export type ServerProtocol = 'grpc' | 'file' | 'http' | 'https';

/** Returns the protocol of a server URI. A URI of any other scheme is a gRPC target (gRFC A27). */
export function serverProtocol(serverUri: string): ServerProtocol {
  const scheme = /^(file|https?):/i.exec(serverUri)?.[1]?.toLowerCase();
  return scheme === 'file' || scheme === 'http' || scheme === 'https' ? scheme : 'grpc';
}

/** Validates a URI without resolving it. @returns the protocol, or an error text. */
export function checkServerUri(serverUri: string): Result<ServerProtocol, string> {
  // Its resolution would need the server itself.
  if (serverUri.startsWith('xds:')) return err('must not be an xds: target');
  const protocol = serverProtocol(serverUri);
  if (protocol === 'grpc') {
    return PASSTHROUGH.exec(serverUri)?.[1] === '' ? err('must have an address') : ok(protocol);
  }
  let url: URL;
  try {
    url = new URL(serverUri);
  } catch (error) {
    return err(`must be a URL: ${errorMessage(error)}`);
  }
  if (url.search !== '' || url.hash !== '') return err('must be a URL without "?" and "#"');
  if (protocol === 'file') {
    const isAbsolute = /^file:\/\/\/./i.test(serverUri);
    return isAbsolute ? ok(protocol) : err('must be "file://" and an absolute path');
  }
  const isAnonymous = url.username === '' && url.password === '';
  return isAnonymous ? ok(protocol) : err('must be a URL without user and password');
}

/** gRPC-Go's scheme for an address that is dialled as it is; grpc-js has no resolver for it. */
const PASSTHROUGH = /^passthrough:(?:\/\/[^/]*\/)?(.*)$/i;

/**
 * Returns the target that grpc-js connects to for a gRPC server: the URI, unless that is of the scheme `passthrough`, as
 * the tools of gRPC-Go write it
 * (https://github.com/grpc/grpc-go/blob/master/internal/resolver/passthrough/passthrough.go).
 */
export function channelTarget(serverUri: string): string {
  const address = PASSTHROUGH.exec(serverUri)?.[1];
  if (address === undefined) return serverUri;
  const host = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/:\d+$/, '');
  if (isIPv4(host)) return `ipv4:${address}`;
  return isIPv6(host) ? `ipv6:${address}` : `dns:///${address}`;
}
