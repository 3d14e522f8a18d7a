import { routerFilter, type Json } from '../../support/xds-json';
import { HTTP, LB, TYPE } from './type-urls';

const MATCHING = `${TYPE}/envoy.extensions.common.matching.v3`;

/** A configuration of the fault filter. */
export const faultConfig: Json = {
  '@type': `${HTTP}.fault.v3.HTTPFault`,
  delay: { fixed_delay: '0.1s', percentage: { numerator: 3, denominator: 'MILLION' } },
  abort: { header_abort: {}, percentage: { numerator: 10 } },
  max_active_faults: 5,
};
const headerInput: Json = {
  name: 'header',
  typed_config: {
    '@type': `${TYPE}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput`,
    header_name: 'x-user',
  },
};
const composite: Json = {
  '@type': `${MATCHING}.ExtensionWithMatcher`,
  extension_config: {
    name: 'composite',
    typed_config: { '@type': `${HTTP}.composite.v3.Composite` },
  },
  xds_matcher: {
    matcher_list: {
      matchers: [
        {
          predicate: {
            and_matcher: {
              predicate: [
                { single_predicate: { input: headerInput, value_match: { prefix: 'a' } } },
                {
                  not_matcher: {
                    single_predicate: {
                      input: headerInput,
                      value_match: { safe_regex: { regex: 'a.*b' } },
                    },
                  },
                },
              ],
            },
          },
          on_match: {
            action: {
              name: 'fault',
              typed_config: {
                '@type': `${HTTP}.composite.v3.ExecuteFilterAction`,
                typed_config: { name: 'fault', typed_config: faultConfig },
              },
            },
          },
        },
      ],
    },
    on_no_match: {
      action: {
        name: 'skip',
        typed_config: {
          '@type': `${TYPE}/envoy.extensions.filters.common.matcher.action.v3.SkipFilter`,
        },
      },
    },
  },
};
const session: Json = {
  '@type': `${HTTP}.stateful_session.v3.StatefulSession`,
  session_state: {
    name: 'cookie',
    typed_config: {
      '@type': `${TYPE}/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState`,
      cookie: { name: 'session', path: '/shop', ttl: '120s' },
    },
  },
};
const authn: Json = {
  '@type': `${HTTP}.gcp_authn.v3.GcpAuthnFilterConfig`,
  cache_config: { cache_size: 3 },
};
/** One HTTP filter of each kind, and one that is unknown. */
export const filters: readonly Json[] = [
  { name: 'fault', typed_config: faultConfig },
  { name: 'composite', typed_config: composite },
  { name: 'session', typed_config: session },
  { name: 'authn', typed_config: authn },
  {
    name: 'unknown',
    is_optional: true,
    typed_config: { '@type': `${LB}.round_robin.v3.RoundRobin` },
  },
  routerFilter,
];
