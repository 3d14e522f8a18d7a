import { toAuthority } from '../bootstrap/percent-encoding';
import type { ChannelOptions, GrpcUri } from '../grpc-js';

/** A parsed `xds:` target (gRFC A47). */
export interface TargetName {
  /** The xDS authority, not the data plane's; empty for `xds:///name`. */
  readonly authority: string;
  /** The path without a leading slash, from which the name of the Listener is made. */
  readonly path: string;
}

/** Takes apart a target URI of scheme `xds`. */
export function parseTargetName(target: GrpcUri): TargetName {
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
