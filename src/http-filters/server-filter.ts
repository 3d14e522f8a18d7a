import type { HttpFilterConfig } from '../resources/extension-points';
import type { HttpFilter } from './http-filter';
import type { FilterExplanation, Refusal } from '../authorization/refusal';
import type { AuthorizationRequest } from '../authorization/request';

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

/** Whether servers can run a filter. */
export function isServerFilter(filter: HttpFilter): filter is ServerHttpFilter {
  return 'createServerFilter' in filter;
}
