import { toAuthority } from '../bootstrap/resource-template';
import type { MethodConfig } from '../grpc-js';
import type { PreparedFilter } from '../http-filters/client-filter';
import type { AuthorityRewrite, Mirror } from '../lb/call-attributes';
import type {
  ClusterSpecifier,
  HashPolicy,
  HostRewrite,
  RetryableCode,
  RetryPolicy,
  Route,
  VirtualHost,
} from '../resources/route-config/route-config';
import type { RouteKey } from '../observe/rates/route-rates';
import { DescribedRoute } from '../routing/describe-route';
import { formatDurationString } from '../util/duration';
import type { Random } from '../util/random';
import type { StatusCode } from '../util/status-code';
import type { ClusterRef } from './cluster-refs';

/** By how much grpc-js multiplies the backoff after each retry (gRFC A44). */
export const BACKOFF_MULTIPLIER = 2;
/** A route compiled for calls, with everything that does not depend on the call. */
export interface CompiledRoute {
  readonly route: Route;
  /** What its calls are counted by. */
  readonly key: RouteKey;
  /** `undefined` if calls that match must fail. */
  readonly choice: ClusterChoice | undefined;
  /** The hash policies of the action; empty if the hash of a call is random. */
  readonly hashPolicies: readonly HashPolicy[];
  /** Timeout in milliseconds, besides the application's own deadline (gRFC A31). */
  readonly timeoutMs: number | undefined;
  /** The retry policy of the route, or else of the virtual host (gRFC A44). */
  readonly retryPolicy: RetryPolicy | undefined;
  /** Timeout and retries for grpc-js. */
  readonly methodConfig: MethodConfig;
  /** `undefined` if the authority is not rewritten. */
  readonly authorityRewrite: AuthorityRewrite | undefined;
  /** Where calls are copied to. Absent if nowhere. */
  readonly mirrors?: readonly Mirror[] | undefined;
}

/** What a route is compiled with. */
export interface RouteSurroundings {
  readonly virtualHost: Pick<VirtualHost, 'retryPolicy' | 'routes' | 'mirrors'>;
  /** The timeout of the listener, for routes without one. */
  readonly maxStreamDurationMs: number | undefined;
  /** The authority of the channel. */
  readonly defaultAuthority: string;
  /** The filters of each cluster of the route. */
  readonly filters: readonly (readonly PreparedFilter[])[];
  /** Returns the reference to a cluster, which belongs to the caller. */
  refOf(cluster: string): ClusterRef;
}

/** Compiles a route. */
export function compileRoute(route: Route, surroundings: RouteSurroundings): CompiledRoute {
  const { action } = route;
  const { virtualHost, maxStreamDurationMs, defaultAuthority, filters } = surroundings;
  const key = new DescribedRoute(route, virtualHost);
  if (action.kind !== 'forward') {
    return {
      route,
      key,
      choice: undefined,
      hashPolicies: [],
      methodConfig: { name: [] },
      timeoutMs: undefined,
      retryPolicy: undefined,
      authorityRewrite: undefined,
    };
  }
  const timeoutMs = effectiveTimeoutMs(action.maxStreamDurationMs, maxStreamDurationMs);
  const policy = action.retryPolicy ?? virtualHost.retryPolicy;
  const retryPolicy = policy === 'none' ? undefined : policy;
  const refOf = (cluster: string) => surroundings.refOf(cluster);
  const mirrors = action.mirrors ?? virtualHost.mirrors;
  return {
    route,
    key,
    timeoutMs,
    retryPolicy,
    choice: new ClusterChoice(action.clusters, refOf, filters),
    hashPolicies: action.hashPolicies,
    methodConfig: toMethodConfig(timeoutMs, retryPolicy),
    authorityRewrite: action.hostRewrite && compileRewrite(action.hostRewrite, defaultAuthority),
    mirrors: mirrors?.map(({ cluster, perMillion }) => ({
      childName: refOf(cluster).childName,
      perMillion,
    })),
  };
}

/**
 * Returns the timeout of calls in milliseconds, besides the application's own deadline: that of the route, or else of the
 * listener (gRFC A31). 0 stands for no limit.
 */
function effectiveTimeoutMs(
  routeMs: number | undefined,
  listenerMs: number | undefined,
): number | undefined {
  const timeoutMs = routeMs ?? listenerMs ?? 0;
  return timeoutMs > 0 ? timeoutMs : undefined;
}

/** Converts a timeout for grpc-js, which makes a deadline of it for calls with a route from their start. */
function toDuration(ms: number): { seconds: number; nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/** The names of status codes in the config of grpc-js. */
const STATUS_NAMES: Readonly<Record<RetryableCode, keyof typeof StatusCode>> = {
  cancelled: 'CANCELLED',
  'deadline-exceeded': 'DEADLINE_EXCEEDED',
  internal: 'INTERNAL',
  'resource-exhausted': 'RESOURCE_EXHAUSTED',
  unavailable: 'UNAVAILABLE',
};

/** Returns grpc-js's method config: timeout (gRFC A31) and retries (gRFC A44). */
function toMethodConfig(
  timeoutMs: number | undefined,
  retryPolicy: RetryPolicy | undefined,
): MethodConfig {
  const config: MethodConfig = { name: [] };
  if (timeoutMs !== undefined) config.timeout = toDuration(timeoutMs);
  if (retryPolicy !== undefined) {
    config.retryPolicy = {
      maxAttempts: retryPolicy.maxAttempts,
      initialBackoff: formatDurationString(retryPolicy.baseIntervalMs),
      maxBackoff: formatDurationString(retryPolicy.maxIntervalMs),
      backoffMultiplier: BACKOFF_MULTIPLIER,
      retryableStatusCodes: retryPolicy.retryOn.map((code) => STATUS_NAMES[code]),
    };
  }
  return config;
}

function compileRewrite(rewrite: HostRewrite, defaultAuthority: string): AuthorityRewrite {
  const authority = rewrite.kind === 'literal' ? toAuthority(rewrite.authority) : '';
  return { authority, defaultAuthority };
}

/** One cluster of a route. */
export interface RouteCluster {
  readonly ref: ClusterRef;
  readonly weight: number;
  readonly filters: readonly PreparedFilter[];
}

/** The clusters of one route and the draw among them. */
export class ClusterChoice {
  readonly clusters: readonly RouteCluster[];
  /** Running sums of the weights, parallel to `clusters`. */
  private readonly thresholds: readonly number[];
  /** Created for the first call with a session cookie. */
  private byChildName: ReadonlyMap<string, RouteCluster> | undefined;

  /**
   * @param refOf Returns the reference to a cluster, which belongs to the owner of the choice.
   * @param filters The filters of each cluster, in the order of the clusters.
   */
  constructor(
    specifier: ClusterSpecifier,
    refOf: (cluster: string) => ClusterRef,
    filters: readonly (readonly PreparedFilter[])[],
  ) {
    const named =
      specifier.kind === 'weighted' ? specifier.clusters : [{ ...specifier, weight: 1 }];
    this.clusters = named.map(({ name, weight }, i) => {
      return { ref: refOf(name), weight, filters: filters[i] ?? [] };
    });
    let sum = 0;
    this.thresholds = named.map(({ weight }) => (sum += weight));
  }

  /** Draws one cluster by weight, regardless of its connectivity (gRFC A31). */
  draw(random: Random): RouteCluster {
    const { clusters, thresholds } = this;
    let low = 0;
    let high = clusters.length - 1;
    if (high > 0) {
      const point = random() * (thresholds[high] ?? 0);
      while (low < high) {
        const middle = (low + high) >> 1;
        if (point < (thresholds[middle] ?? 0)) high = middle;
        else low = middle + 1;
      }
    }
    const cluster = clusters[low];
    if (cluster === undefined) throw new Error('A route has no cluster to choose from');
    return cluster;
  }

  /** Finds the cluster whose child in the cluster manager has this name, such as `cluster:foo` (gRFC A60). */
  find(childName: string): RouteCluster | undefined {
    // Of several with one name, the first is found.
    this.byChildName ??= new Map(
      this.clusters.toReversed().map((each) => [each.ref.childName, each]),
    );
    return this.byChildName.get(childName);
  }
}
