import type { HttpFilterConfig } from '../../resources/extension-points';

/** The full name of the message that configures the filter. */
export const STATEFUL_SESSION = 'envoy.extensions.filters.http.stateful_session.v3.StatefulSession';

/** The full name of the message that overrides the config for some routes. */
export const STATEFUL_SESSION_PER_ROUTE =
  'envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute';

/** The cookie that carries a session. */
export interface SessionCookie {
  /** Never empty. */
  readonly name: string;
  /** The calls that belong to sessions, by the rules of RFC 6265, section 5.1.4; `/` for all. */
  readonly path: string;
  /** Milliseconds the application is told to keep the cookie for; 0 for as long as it likes. */
  readonly ttlMs: number;
}

/** A config or an override of the filter (gRFC A55). */
export class StatefulSessionConfig implements HttpFilterConfig {
  /**
   * @param configType The message it came from.
   * @param cookie `undefined` if the filter has nothing to do.
   */
  constructor(
    readonly configType: string,
    readonly cookie: SessionCookie | undefined,
  ) {}
}
