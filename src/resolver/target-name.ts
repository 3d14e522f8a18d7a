import { toAuthority } from '../bootstrap/percent-encoding';
import type { ChannelOptions, GrpcUri } from '../grpc-js';

/** A parsed `xds:` target (gRFC A47). */
export interface TargetName {
  /** The xDS authority, not the data plane's; empty for `xds:///name`. */
  readonly authority: string;
  /** The path without a leading slash, from which the name of the Listener is made. */
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

/**
 * The data-plane authority of a channel, by which the virtual host is chosen: the channel option
 * `grpc.default_authority`, or else the path of the target (gRFCs A47, A74).
 */
export function dataPlaneAuthority(target: GrpcUri, options: ChannelOptions): string {
  // The host library takes an empty option for none.
  return toAuthority(options['grpc.default_authority'] || parseTargetName(target).path);
}
