import type { CallCredentials, PickArgs, PickResult } from '../grpc-js';
import { AttemptState } from '../grpc-js/call-metadata';
import type { CallStats } from '../observe/stats/call-stats';

/**
 * The attributes of one call, from the resolver to the pickers. grpc-js types pick information as strings but passes
 * the object itself, so it can carry more.
 */
export interface CallAttributes {
  /** The child of the cluster manager to use, such as `cluster:foo` (gRFC A31). */
  readonly cluster: string;
  /** As the application passed it, such as `/package.Service/Method`. Absent on a channel without the xds resolver. */
  readonly method?: string;
  /**
   * Returns the hash by the hash policies of the route, or a random one if none matches (gRFC A42). The same for every
   * pick of the call, and computed at the first use. Absent on a channel without the xds resolver.
   */
  requestHash?(): bigint;
  /** The authority to send instead of the default one (gRFCs A81, A111). Absent for calls of most routes. */
  readonly authorityRewrite?: AuthorityRewrite | undefined;
  /** The time for which an attempt may have no response headers. Absent if there is no such limit. */
  readonly perTryTimeoutMs?: number | undefined;
  /** Where the first attempt of the call is copied to. Absent, and removed when it is sent. */
  mirrors?: readonly Mirror[] | undefined;
  /** The endpoint requested for the call (gRFC A55). Absent for calls that belong to no session. */
  readonly overrideHost?: OverrideHost | undefined;
  /** Sent with every attempt of the call besides those of channel and call (gRFC A83). Absent if there are none. */
  readonly callCredentials?: CallCredentials | undefined;
  /** The state of an observed call. Absent if nothing observes it. */
  readonly stats?: CallStats | undefined;
  /** Called with each pick of the cluster manager. @returns the result that the channel receives. */
  onPick?(result: PickResult): PickResult;
  /** The result of every pick from now on, of a call that has ended but waits for a pick. */
  readonly endedPick?: PickResult | undefined;
}

/** Hands a call from its pick to its connection, which gets only the headers. Set for calls that are rewritten or observed. */
export const callOfAttempt = new AttemptState<CallAttributes>();

/** Where calls are copied to. */
export interface Mirror {
  /** The child of the cluster manager, such as `cluster:foo`. */
  readonly childName: string;
  /** The share of the calls, in parts per million. */
  readonly perMillion: number;
}

/** How the authority of a call is rewritten. */
export interface AuthorityRewrite {
  /** The authority to send; empty for the hostname of the endpoint, if it has one. */
  readonly authority: string;
  /** The default authority of the channel. A call with another one has it from the application, and keeps it. */
  readonly defaultAuthority: string;
}

/** The endpoint that a call requests, and the notification of the one it got (gRFCs A55, A61). */
export interface OverrideHost {
  /** Such as `10.0.0.1:80` or `[::1]:80`, the preferred one first; empty if any endpoint can be used. */
  readonly addresses: readonly string[];
  /** Called with every complete pick. @param addresses All addresses of the endpoint, the one in use first. */
  onPicked(addresses: readonly string[]): void;
}

/** Returns the attributes of the call being picked for; `undefined` on a channel without the xds resolver. */
export function callAttributes({ extraPickInfo }: PickArgs): CallAttributes | undefined {
  // The grpc-js border: declared as strings, but it is the object that the config selector returned.
  const info: object = extraPickInfo;
  return isCallAttributes(info) ? info : undefined;
}

function isCallAttributes(info: object): info is CallAttributes {
  return 'cluster' in info && typeof info.cluster === 'string';
}
