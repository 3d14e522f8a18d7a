import type { HttpFilterConfig } from '../resources/extension-points';
import type { HttpFilter } from './http-filter';
import type { FilterExplanation, Refusal } from '../authorization/refusal';
import type { AuthorizationRequest, FilteredCall } from '../authorization/request';

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

/** A request as the filters of this package see it. */
export interface ServerRequest extends AuthorizationRequest {
  /** Absent where the request belongs to no call. */
  readonly filtered?: FilteredCall | undefined;
}

/** The status with which a request ends, `undefined` if it is passed on; a promise while a filter waits. */
export type Judgement = Refusal | undefined | Promise<Refusal | undefined>;

/** Judges the requests of a server before its own interceptors. */
export interface ServerFilter {
  /** A promise may stay pending if the call ends. */
  onRequest(request: ServerRequest): Judgement;
  /**
   * Explains the same decision without a trace of it: no audit, no log, no other call. Default: `onRequest` is called for it, which
   * must not wait.
   */
  explain?(request: AuthorizationRequest): FilterExplanation;
}

/** Whether servers can run a filter. */
export function isServerFilter(filter: HttpFilter): filter is ServerHttpFilter {
  return 'createServerFilter' in filter;
}
