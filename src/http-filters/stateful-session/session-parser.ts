import {
  StatefulSession,
  StatefulSessionPerRoute,
} from '../../wire/generated/envoy/extensions/filters/http/stateful_session/v3/stateful_session';
import { CookieBasedSessionState } from '../../wire/generated/envoy/extensions/http/stateful_session/cookie/v3/cookie';
import type { Cookie } from '../../wire/generated/envoy/type/http/v3/cookie';
import type { HttpFilterConfig } from '../../resources/extension-points';
import { unpackAny } from '../../resources/shared/any';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import { MAX_COOKIE_NAME_LENGTH } from '../../util/limits';
import { quoteText } from '../../util/text';
import { durationToMs } from '../../util/duration';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage } from '../http-filter';

/** The full name of the message that configures the filter. */
export const STATEFUL_SESSION = 'envoy.extensions.filters.http.stateful_session.v3.StatefulSession';

/** The full name of the message that overrides the config for some routes. */
export const STATEFUL_SESSION_PER_ROUTE =
  'envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute';

/** The cookie that carries a session. */
export interface SessionCookie {
  /** Never empty. */
  readonly name: string;
  /** The path that calls of sessions match (RFC 6265, section 5.1.4); `/` matches all. */
  readonly path: string;
  /** Milliseconds, for the cookie's `Max-Age`; 0 for a cookie without one. */
  readonly ttlMs: number;
}

/** A config or an override of the filter (gRFC A55). */
export class StatefulSessionConfig implements HttpFilterConfig {
  /**
   * @param configType The name of its message.
   * @param cookie `undefined` if the filter does nothing.
   */
  constructor(
    readonly configType: string,
    readonly cookie: SessionCookie | undefined,
  ) {}
}

const cookieBasedSessionState = {
  typeName: 'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState',
  decoder: CookieBasedSessionState,
};

// The characters of a `set-cookie` header without its separator. Any other would break every response.
const NAME = /^[!-:<>-~]+$/;
const PATH = /^[ -:<-~]*$/;

/** Parses a StatefulSession; `undefined` after adding a violation (gRFC A55). */
export function parseSessionConfig(
  config: ExtensionConfig,
  violations: Violations,
): StatefulSessionConfig | undefined {
  const before = violations.count;
  const message = decodeFilterMessage(config, StatefulSession, violations);
  const cookie = message && parseSession(message, violations);
  if (violations.count > before) return undefined;
  return new StatefulSessionConfig(config.typeName, cookie);
}

/**
 * Parses a StatefulSessionPerRoute; `undefined` after adding a violation. An empty override disables the filter, as
 * one with `disabled` does.
 */
export function parseSessionOverride(
  config: ExtensionConfig,
  violations: Violations,
): StatefulSessionConfig | undefined {
  const before = violations.count;
  const { override } = decodeFilterMessage(config, StatefulSessionPerRoute, violations) ?? {};
  const cookie =
    override?.$case === 'statefulSession'
      ? parseSession(override.value, violations.at('stateful_session'))
      : undefined;
  if (violations.count > before) return undefined;
  return new StatefulSessionConfig(config.typeName, cookie);
}

/** Returns `undefined` without a session state, which disables the filter, and after adding a violation. */
function parseSession(
  { sessionState }: StatefulSession,
  violations: Violations,
): SessionCookie | undefined {
  if (sessionState === undefined) return undefined;
  const at = violations.at('session_state').at('typed_config');
  const state = unpackAny(sessionState.typedConfig, cookieBasedSessionState, at);
  if (state === undefined) return undefined;
  if (state.cookie === undefined) return at.at('cookie').add('field not present');
  return parseCookie(state.cookie, at.at('cookie'));
}

function parseCookie(
  { name, path, ttl }: Cookie,
  violations: Violations,
): SessionCookie | undefined {
  if (name === '') violations.at('name').add('must not be empty');
  else checkText(name, NAME, violations.at('name'));
  checkText(path, PATH, violations.at('path'));
  const ttlMs = ttl === undefined ? 0 : durationToMs(ttl, violations.at('ttl'));
  if (ttlMs === undefined) return undefined;
  return { name, path: path === '' ? '/' : path, ttlMs };
}

function checkText(text: string, pattern: RegExp, violations: Violations): void {
  if (text.length > MAX_COOKIE_NAME_LENGTH)
    violations.add(`must have at most ${MAX_COOKIE_NAME_LENGTH} characters`);
  else if (!pattern.test(text)) {
    violations.add(`cannot be that of a cookie: ${quoteText(text)}`);
  }
}
