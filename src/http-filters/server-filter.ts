import type { Metadata, Status } from '../grpc-js';
import type { HttpFilterConfig } from '../resources/extension-points';
import type { HttpFilter } from './http-filter';
import type { AuthorizationRequest } from './rbac/request';

/** A kind of HTTP filter that servers can run (gRFC A39). */
export interface ServerHttpFilter extends HttpFilter {
  /**
   * Creates the filter of the requests of a route.
   *
   * @param config What `parseConfig` returned.
   * @param override What `parseOverride` returned, if the route has an override.
   * @param instance The name of the filter in its chain, for logs and audits.
   * @returns `undefined` if the filter does nothing for these requests.
   */
  createServerFilter(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
    instance: string,
  ): ServerFilter | undefined;
}

/** Judges the requests of a server before its own interceptors. */
export interface ServerFilter {
  /** Returns the status with which a request ends; `undefined` if it is passed on. Does not throw. */
  onRequest(request: AuthorizationRequest): Refusal | undefined;
  /** Explains the same decision without a trace of it: no audit, no log. Default: `onRequest` is called for it. */
  explain?(request: AuthorizationRequest): FilterExplanation;
}

/** A rule of a filter that was tried. */
export interface RuleTrial {
  readonly name: string;
  /** Why it does not match; `undefined` if it does. */
  readonly mismatch: string | undefined;
}

/** What a filter decides about a request, and why. */
export interface FilterExplanation {
  /** `undefined` if the request is passed on. */
  readonly refusal: Refusal | undefined;
  /** Whether the rules deny what they match, or allow it; `undefined` for a filter without rules. */
  readonly action: 'allow' | 'deny' | undefined;
  /** The rules that were tried, in their order. */
  readonly rules: readonly RuleTrial[];
}

/** A filter that refuses requests. */
export interface RefusingFilter {
  /** The name of the instance. */
  readonly filter: string;
  /** Whether its rules deny what they match, or allow it; `undefined` for a filter without rules. */
  readonly action: 'allow' | 'deny' | undefined;
}

/** The status of a request that a filter does not pass on. */
export interface Refusal {
  readonly code: Status;
  /** The details of the status. */
  readonly details: string;
  /** The reason, for logs; it must not be in the status. */
  readonly reason: string;
  /** Trailers; none by default. */
  readonly metadata?: Metadata | undefined;
  /** The name of the policy that denies it, for logs and metrics; `undefined` if no policy allows it. */
  readonly policy: string | undefined;
  /** The filter that does not pass it on, for metrics; absent if there is no filter to name. */
  readonly decidedBy?: RefusingFilter;
}

/** Whether servers can run a filter. */
export function isServerFilter(filter: HttpFilter): filter is ServerHttpFilter {
  return 'createServerFilter' in filter;
}
