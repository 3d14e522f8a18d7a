import type { CallCredentials, PickArgs, PickResult } from '../grpc-js';
import type { CallStats } from '../observe/stats/call-stats';

/**
 * The attributes of one call, from the resolver to the pickers. grpc-js types pick information as strings but passes
 * the object itself, so it can carry more.
 */
export interface CallAttributes {
  /** The child of the cluster manager to use, such as `cluster:foo` (gRFC A31). */
  readonly cluster: string;
  /**
   * Returns the hash by the hash policies of the route, or a random one if none matches (gRFC A42). The same for every
   * pick of the call, and computed at the first use. Absent on a channel without the xds resolver.
   */
  requestHash?(): bigint;
  /** The authority to send instead of the default one (gRFCs A81, A111). Absent for calls of most routes. */
  readonly authorityRewrite?: AuthorityRewrite | undefined;
  /** The endpoint requested for the call (gRFC A55). Absent for calls that belong to no session. */
  readonly overrideHost?: OverrideHost;
  /** Sent with every attempt of the call besides those of channel and call (gRFC A83). Absent if there are none. */
  readonly callCredentials?: CallCredentials;
  /** The attributes for the policies below the cluster manager, of a call that was routed later. Default: these. */
  readonly routed?: CallAttributes | undefined;
  /** Called with each pick after which the call may wait; for the status of one that waits until its deadline. */
  onNotPicked?(result: PickResult): void;
  /** Replaces each pick. Only for calls whose route has a timeout that the host library does not know of. */
  replacePick?(result: PickResult): PickResult;
  /** The result of every pick of a call that has ended but waits for a pick: `cluster` is empty then. */
  readonly endedPick?: PickResult | undefined;
}

/** How the authority of a call is rewritten. */
export interface AuthorityRewrite {
  /** The authority to send; empty for the hostname of the endpoint, if it has one. */
  readonly authority: string;
  /** The default authority of the channel. A call with another one has it from the application, and keeps it. */
  readonly defaultAuthority: string;
}

/** The pick information of a call that plugins observe. */
interface ObservedAttributes {
  stats?: CallStats;
}

/** Adds the state of an observed call to its pick information. */
export function observeAttributes(info: object, stats: CallStats): void {
  if (canBeObserved(info)) info.stats = stats;
}

/** Returns the state of the call being picked for; `undefined` if nothing observes it. */
export function observedCall({ extraPickInfo }: PickArgs): CallStats | undefined {
  const info: object = extraPickInfo;
  return canBeObserved(info) ? info.stats : undefined;
}

/** Always: a call config is an object of the call's own, and nothing else is stored under this name. */
function canBeObserved(_info: object): _info is ObservedAttributes {
  return true;
}

/** The endpoint that a call requests, and the notification of the one it got (gRFCs A55, A61). */
export interface OverrideHost {
  /** Such as `10.0.0.1:80` or `[::1]:80`, the preferred one first; empty if any endpoint can be used. */
  readonly addresses: readonly string[];
  /** Called with every complete pick. @param addresses All addresses of the endpoint, the one in use first. */
  onPicked(addresses: readonly string[]): void;
}

/** Returns the attributes of the call being picked for; `undefined` on a channel without the xds resolver. */
export function callAttributes(args: PickArgs): CallAttributes | undefined {
  const attributes = toCallAttributes(args.extraPickInfo);
  return attributes?.routed ?? attributes;
}

/** Returns the pick information of a call as its attributes; `undefined` if it is not that of the xds resolver. */
export function toCallAttributes(info: object): CallAttributes | undefined {
  // The grpc-js border: declared as strings, but it is the object that the config selector returned.
  return isCallAttributes(info) ? info : undefined;
}

function isCallAttributes(info: object): info is CallAttributes {
  return 'cluster' in info && typeof info.cluster === 'string';
}
