import type { PickArgs } from '../grpc-js';

/**
 * What the resolver tells the pickers about one call. grpc-js types pick information as strings but passes
 * the object itself, so it can carry more.
 */
export interface CallAttributes {
  /** The child of the cluster manager to use, such as `cluster:foo` (gRFC A31). */
  readonly cluster: string;
  /**
   * The hash by the hash policies of the route, or a random one if they give none (gRFC A42). The same for every
   * pick of the call, computed with the first that needs it. Absent on a channel without the xds resolver.
   */
  requestHash?(): bigint;
  /** Asks for an endpoint (gRFC A55). Absent for calls that belong to no session. */
  readonly overrideHost?: OverrideHost;
}

/** A call's wish for an endpoint, and how the call learns which one it got (gRFCs A55, A61). */
export interface OverrideHost {
  /** Such as `10.0.0.1:80` or `[::1]:80`, the most wanted first; empty if any endpoint will do. */
  readonly addresses: readonly string[];
  /** To be called with every complete pick. @param addresses All of the endpoint, the one in use first. */
  onPicked(addresses: readonly string[]): void;
}

/** The attributes of the call being picked for; `undefined` on a channel without the xds resolver. */
export function callAttributes(args: PickArgs): CallAttributes | undefined {
  // The grpc-js border: the type says strings, the value is the object the config selector returned.
  const info: object = args.extraPickInfo;
  return isCallAttributes(info) ? info : undefined;
}

function isCallAttributes(info: object): info is CallAttributes {
  return 'cluster' in info && typeof info.cluster === 'string';
}
