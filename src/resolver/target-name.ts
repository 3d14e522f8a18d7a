import type { GrpcUri } from '../grpc-js';

/** A parsed `xds:` target (gRFC A47). */
export interface TargetName {
  /** The xDS authority, not the data plane's; empty for `xds:///name`. */
  readonly authority: string;
  /** The name without a leading slash: listener name, data-plane authority and virtual host name at once. */
  readonly path: string;
}

/** Takes apart a target URI of scheme `xds`. */
export function parseTargetName(target: GrpcUri): TargetName {
  const path = target.path.startsWith('/') ? target.path.slice(1) : target.path;
  return { authority: target.authority ?? '', path };
}
