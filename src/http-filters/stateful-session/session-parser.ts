import {
  StatefulSession,
  StatefulSessionPerRoute,
} from '../../generated/envoy/extensions/filters/http/stateful_session/v3/stateful_session';
import { CookieBasedSessionState } from '../../generated/envoy/extensions/http/stateful_session/cookie/v3/cookie';
import type { Cookie } from '../../generated/envoy/type/http/v3/cookie';
import { unpackAny } from '../../resources/shared/any';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import { durationToMs } from '../../util/duration';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage } from '../filter-message';
import { StatefulSessionConfig, type SessionCookie } from './session-config';

const cookieBasedSessionState = {
  typeName: 'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState',
  decoder: CookieBasedSessionState,
};

// What a `set-cookie` header can carry besides its separator. Anything else would break every response.
const NAME = /^[!-:<>-~]+$/;
const PATH = /^[ -:<-~]*$/;

/** `undefined` after adding a violation (gRFC A55). */
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
 * `undefined` after adding a violation. An override that says nothing has the filter do nothing, as one that
 * says `disabled`.
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

/** Without a session state there are no sessions. */
function parseSession(
  { sessionState }: StatefulSession,
  violations: Violations,
): SessionCookie | undefined {
  if (sessionState === undefined) return undefined;
  const at = violations.at('session_state').at('typed_config');
  const state = unpackAny(sessionState.typedConfig, cookieBasedSessionState, at);
  if (state === undefined) return undefined;
  if (state.cookie === undefined) {
    at.at('cookie').add('field not present');
    return undefined;
  }
  return parseCookie(state.cookie, at.at('cookie'));
}

function parseCookie(
  { name, path, ttl }: Cookie,
  violations: Violations,
): SessionCookie | undefined {
  if (name === '') violations.at('name').add('must not be empty');
  else if (!NAME.test(name))
    violations.at('name').add(`cannot be that of a cookie: ${quote(name)}`);
  if (!PATH.test(path)) violations.at('path').add(`cannot be that of a cookie: ${quote(path)}`);
  const ttlMs = ttl === undefined ? 0 : durationToMs(ttl, violations.at('ttl'));
  if (ttlMs === undefined) return undefined;
  return { name, path: path === '' ? '/' : path, ttlMs };
}

function quote(text: string): string {
  return JSON.stringify(text);
}
