import type { HttpFilterConfig, CompiledRegex, LbConfig } from '../extension-points';
import type { StringMatcher } from '../matching/string-matcher';
import type { HeaderMutations } from '../shared/header-mutation';

/** An override of one filter instance (gRFC A39, `typed_per_filter_config`). */
export interface HttpFilterOverride {
  /** `undefined` where only `disabled` is set. */
  readonly config: HttpFilterConfig | undefined;
  readonly disabled: boolean;
}

/** Overrides by filter instance name. */
export type HttpFilterOverrides = ReadonlyMap<string, HttpFilterOverride>;

/** The path condition of a route. */
export type PathMatcher =
  /** Text is in lower case unless `caseSensitive`. */
  | { readonly kind: 'prefix' | 'path'; readonly text: string; readonly caseSensitive: boolean }
  | { readonly kind: 'regex'; readonly regex: CompiledRegex };

/** The condition of a header (gRFCs A28, A63). */
export type HeaderCondition =
  | { readonly kind: 'string'; readonly matcher: StringMatcher }
  /** `[start, end)` on a decimal integer. */
  | { readonly kind: 'range'; readonly start: bigint; readonly end: bigint }
  | { readonly kind: 'present'; readonly present: boolean };

/** One header condition of a route. */
export interface HeaderMatcher {
  /** Lower case. */
  readonly name: string;
  readonly condition: HeaderCondition;
  readonly invert: boolean;
  /** Whether an absent header has the empty value, other than for `present` (docs/decisions/resource-validation.md). */
  readonly missingAsEmpty: boolean;
}

/** The conditions of a route, all of which must hold. */
export interface RouteMatch {
  readonly path: PathMatcher;
  readonly headers: readonly HeaderMatcher[];
  /** Share of calls, 0 to 1,000,000; `undefined` for all. */
  readonly fractionPerMillion: number | undefined;
}

/** gRPC status codes a call is retried on, lower-case names as in `retry_on`. */
export type RetryableCode =
  'cancelled' | 'deadline-exceeded' | 'internal' | 'resource-exhausted' | 'unavailable';

/** A retry policy (gRFC A44). */
export interface RetryPolicy {
  /** Never empty: a policy that names no usable code is `'none'`. */
  readonly retryOn: readonly RetryableCode[];
  /** Attempts in all, at least 2. The channel makes at most 5, unless `grpc-node.retry_max_attempts_limit` says otherwise. */
  readonly maxAttempts: number;
  readonly baseIntervalMs: number;
  readonly maxIntervalMs: number;
  /**
   * The time for which an attempt may have no response headers; more than 0. Absent if there is no such limit, or calls are not
   * retried on its status.
   */
  readonly perTryTimeoutMs?: number | undefined;
}

/** One entry of `hash_policy` (gRFC A42). */
export type HashPolicy = (
  | {
      readonly kind: 'header';
      /** Lower case. */
      readonly headerName: string;
      readonly rewrite:
        { readonly regex: CompiledRegex; readonly substitution: string } | undefined;
    }
  | { readonly kind: 'channel-id' }
) & { readonly terminal: boolean };

/** A place in the routes that can change the headers of calls: a virtual host, a route or a weighted cluster. */
export interface HeaderPlace {
  readonly headerMutations?: HeaderMutations | undefined;
}

/** Where copies of calls are sent. */
export interface MirrorPolicy {
  readonly cluster: string;
  /** The share of the calls, in parts per million. */
  readonly perMillion: number;
}

/** One choice of `weighted_clusters`. */
export interface WeightedCluster extends HeaderPlace {
  readonly name: string;
  /** At least 1. */
  readonly weight: number;
  readonly filterOverrides: HttpFilterOverrides;
}

/** The load-balancing configs of the cluster specifier plugins of a route configuration, by the names of their children. */
export type ClusterSpecifierPlugins = ReadonlyMap<string, LbConfig>;

/** Returns the name of the child of a plugin, which no cluster is called: that of a child of a cluster begins with `cluster:`. */
export function pluginChildName(plugin: string): string {
  return `cluster_specifier_plugin:${plugin}`;
}

/** The clusters a route sends to. */
export type ClusterSpecifier =
  | { readonly kind: 'cluster'; readonly name: string }
  /** The policy of a plugin chooses; the name is that of its child, such as `cluster_specifier_plugin:rls`. */
  | { readonly kind: 'plugin'; readonly name: string }
  | {
      readonly kind: 'weighted';
      /** Never empty. */
      readonly clusters: readonly WeightedCluster[];
      /** The sum of the weights, at most 2^32 - 1. */
      readonly totalWeight: number;
      /** The names of those with weight 0, to which no call goes, each once: for people, who look for them. */
      readonly zeroWeight: readonly string[];
    };

/** The authority that is sent instead of the default one of the channel. */
export type HostRewrite =
  /** The hostname of the endpoint, if it has one (gRFC A81). */
  | { readonly kind: 'endpoint-hostname' }
  /** gRFC A111 (draft). Never empty. */
  | { readonly kind: 'literal'; readonly authority: string };

/** The action of a route for the calls that match it. */
export type RouteAction =
  | {
      readonly kind: 'forward';
      readonly clusters: ClusterSpecifier;
      /** From `grpc_timeout_header_max` or else `max_stream_duration`, in milliseconds (gRFC A31); 0 means no limit. */
      readonly maxStreamDurationMs: number | undefined;
      /** `'none'` overrides the virtual host's policy; `undefined` keeps it (gRFC A44). */
      readonly retryPolicy: RetryPolicy | 'none' | undefined;
      readonly hashPolicies: readonly HashPolicy[];
      /** `undefined` if the authority is not rewritten. */
      readonly hostRewrite: HostRewrite | undefined;
      /** Never empty. Absent: those of the virtual host. */
      readonly mirrors?: readonly MirrorPolicy[] | undefined;
    }
  /** For servers, which handle the request themselves; calls of clients fail with UNAVAILABLE (gRFC A36). */
  | { readonly kind: 'non-forwarding' }
  /** Valid, but the call fails with UNAVAILABLE (gRFC A36). `action` is the name of the field. */
  | { readonly kind: 'unsupported'; readonly action: string };

/** One route, in the order given by the control plane. */
export interface Route extends HeaderPlace {
  /** Its place in the virtual host, the first is 0: routes that are left out count, so that it is that of the resource. */
  readonly index: number;
  /** May be empty. */
  readonly name: string;
  readonly match: RouteMatch;
  readonly action: RouteAction;
  readonly filterOverrides: HttpFilterOverrides;
}

/** One virtual host. */
export interface VirtualHost extends HeaderPlace {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes: readonly Route[];
  readonly retryPolicy: RetryPolicy | 'none' | undefined;
  /** Never empty. */
  readonly mirrors?: readonly MirrorPolicy[] | undefined;
  readonly filterOverrides: HttpFilterOverrides;
  /** The clusters that the routes name, in order of appearance. */
  readonly clusters: ReadonlySet<string>;
  /** The plugins that the routes name. Absent if there are none. */
  readonly plugins?: ClusterSpecifierPlugins;
  /** The regular expressions of the routes, each once. */
  readonly regexes: readonly CompiledRegex[];
}

/** A validated RouteConfiguration. */
export interface RouteConfigResource {
  readonly name: string;
  readonly virtualHosts: readonly VirtualHost[];
}
