import { toAuthority } from '../bootstrap/percent-encoding';
import {
  type ChannelOptions,
  type GrpcUri,
  registerResolver,
  type Resolver,
  type ResolverListener,
} from '../grpc-js';
import { constructorOf } from '../grpc-js/host-adapters';
import { err, ok, type Result } from '../util/result';

/** A parsed `xds:` target (gRFC A47). */
export interface TargetName {
  /** The xDS authority, not the data plane's; empty for `xds:///name`. */
  readonly authority: string;
  /** The path without a leading slash, for the name of the Listener. */
  readonly path: string;
}

/** Parses a target URI of scheme `xds`. */
export function parseTargetName(target: GrpcUri): TargetName {
  // grpc-js takes the two slashes of `xds://authority` and `xds://authority/` for a part of the path.
  // https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/uri-parser.ts
  if (target.authority === undefined && target.path.startsWith('//')) {
    const [authority = '', ...path] = target.path.slice(2).split('/');
    return { authority, path: path.join('/') };
  }
  const path = target.path.startsWith('/') ? target.path.slice(1) : target.path;
  return { authority: target.authority ?? '', path };
}

/** Parses a target such as `xds:///shop`, as a channel is given it. */
export function parseTarget(text: string): Result<TargetName, string> {
  const [, path] = /^xds:(.+)$/s.exec(text) ?? [];
  if (path === undefined) return err(`not an xds: target: ${text}; use xds:///<name>`);
  const [, authority, rest] = /^\/\/([^/]*)\/(.*)$/s.exec(path) ?? [];
  const uri =
    authority === undefined || authority === ''
      ? { scheme: 'xds', path: rest === undefined ? path : `/${rest}` }
      : { scheme: 'xds', authority, path: `/${rest ?? ''}` };
  return ok(parseTargetName(uri));
}

/**
 * Returns the data-plane authority of a channel, which selects the virtual host: the channel option
 * `grpc.default_authority`, or else the path of the target (gRFCs A47, A74).
 */
export function dataPlaneAuthority(target: GrpcUri, options: ChannelOptions): string {
  // The host library ignores an empty option.
  return toAuthority(options['grpc.default_authority'] || parseTargetName(target).path);
}

/** The constructor arguments of a resolver. */
export type ResolverArgs = [target: GrpcUri, listener: ResolverListener, options: ChannelOptions];

/** Registers a resolver for `xds:` targets with grpc-js. Replaces any earlier registration. */
export function registerXdsResolver(create: (...args: ResolverArgs) => Resolver): void {
  // Not percent-encoded: grpc-js also uses it in the URL of the HTTP/2 session, and Node.js rejects `%` in a host.
  // The policy cluster_impl encodes the `:authority` of calls.
  // https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/transport.ts
  const getDefaultAuthority = (target: GrpcUri) => parseTargetName(target).path;
  registerResolver('xds', Object.assign(constructorOf(create), { getDefaultAuthority }));
}
