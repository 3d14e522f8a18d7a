import { isIPv4, isIPv6 } from 'node:net';
import { quoteText } from './text';
import { errorMessage } from './errors';
import { err, ok, type Result } from './result';

/** The protocol of a management server. */
export type ServerProtocol = 'grpc' | 'file' | 'http' | 'https';

/** Returns the protocol of a server URI. A URI of any other scheme is a gRPC target (gRFC A27). */
export function serverProtocol(serverUri: string): ServerProtocol {
  const scheme = /^(file|https?):/i.exec(serverUri)?.[1]?.toLowerCase();
  return scheme === 'file' || scheme === 'http' || scheme === 'https' ? scheme : 'grpc';
}

/** A socket, or one address of this machine. */
const LOCAL =
  /^(?:unix(?:-abstract)?:|(?:(?:passthrough|dns):(?:\/\/\/)?|ipv[46]:)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)(?::\d+)?$)/i;

/** Whether a gRPC target is a socket or a loopback address of this machine. */
export function isLocalTarget(target: string): boolean {
  return LOCAL.test(target);
}

/** Returns the path of the socket that grpc-js connects to for a target; `undefined` for another target. */
export function socketPathOf(target: string): string | undefined {
  const [, authority, path = ''] = /^unix:(?:\/\/([^/]*)\/)?(.+)$/s.exec(target) ?? [];
  if (path === '') return undefined;
  return authority === '' ? `/${path}` : path;
}

/** Validates a URI without resolving it. @returns the protocol, or an error text. */
export function checkServerUri(serverUri: string): Result<ServerProtocol, string> {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(serverUri)) return err('must not have control characters');
  // Its resolution would need the server itself.
  if (serverUri.startsWith('xds:')) return err('must not be an xds: target');
  const protocol = serverProtocol(serverUri);
  if (protocol === 'grpc') {
    const problem = problemWithTarget(serverUri);
    return problem === undefined ? ok(protocol) : err(problem);
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

/** The targets of grpc-js that end with addresses. Those of its other schemes, and of resolvers of the application, are not read. */
const ADDRESSES = /^(?:dns|ipv4|ipv6|passthrough):(?:\/\/[^/]*\/)?(.*)$/i;
/** A target without a scheme. */
const NAME_AND_PORT = /^(?:\[.*\]|[^:/]*):\d+$/;
/** A host, or an IP address in brackets, and a port. */
const HOST_AND_PORT = /^(?:\[[^\]]*\]|[^:/]*):(.*)$/;

/** What is wrong with a target that matches, in the order in which it is looked for. */
const MISTAKES: readonly (readonly [RegExp, string])[] = [
  [/\s/, 'must not have spaces'],
  [/^\.{0,2}\//, 'must be "file://" and an absolute path, for a file'],
  [/^:?\d+$/, 'must have a host and a port, such as "localhost:18000"'],
  [/^(?:dns|ipv4|ipv6|passthrough):(?:\/\/[^/]*\/)?$/i, 'must have an address'],
];

/** Returns why no channel can connect to a target, as far as its text shows; `undefined` if it may. */
function problemWithTarget(target: string): string | undefined {
  const isPath = /^unix(?:-abstract)?:/i.test(target);
  if (isPath) return undefined;
  for (const [pattern, problem] of MISTAKES) if (pattern.test(target)) return problem;
  const unnamed = /^dns:\/\/([^/]+)$/i.exec(target)?.[1];
  if (unnamed !== undefined) return `must have three slashes: ${quoteText(`dns:///${unnamed}`)}`;
  // Without a scheme, a target is a name that may have a port; with an unknown one, it is anything.
  const listed = ADDRESSES.exec(target)?.[1] ?? NAME_AND_PORT.exec(target)?.[0];
  for (const address of listed?.split(',') ?? []) {
    const problem = problemWithPort(address);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemWithPort(address: string): string | undefined {
  const port = isIPv6(address) ? undefined : HOST_AND_PORT.exec(address)?.[1];
  if (port === undefined) return undefined;
  const isPort = /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535;
  return isPort ? undefined : `must have a port from 1 to 65535, not ${quoteText(port)}`;
}

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
