import { routerFilter, type Json } from '../../support/xds-json';
import { HTTP, LB, TYPE } from './type-urls';

const SIDE = `${TYPE}/envoy.extensions.grpc_service`;
const MATCHING = `${TYPE}/envoy.extensions.common.matching.v3`;

const optional = (config: Json): Json => ({
  '@type': `${TYPE}/envoy.config.route.v3.FilterConfig`,
  is_optional: true,
  config,
});

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
                      value_match: { prefix: 'a' },
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
const grpcService = (target: Json): Json => ({
  timeout: '1s',
  initial_metadata: [{ key: 'x-from', value: 'mesh' }],
  ...target,
});
const authorization: Json = {
  '@type': `${HTTP}.ext_authz.v3.ExtAuthz`,
  grpc_service: grpcService({
    google_grpc: {
      target_uri: 'dns:///localhost:1',
      channel_credentials_plugin: [
        {
          '@type': `${SIDE}.channel_credentials.xds.v3.XdsCredentials`,
          fallback_credentials: {
            '@type': `${SIDE}.channel_credentials.tls.v3.TlsCredentials`,
            root_certificate_provider: { instance_name: 'mesh', certificate_name: 'roots' },
            identity_certificate_provider: { instance_name: 'mesh' },
          },
        },
      ],
      call_credentials_plugin: [
        { '@type': `${SIDE}.call_credentials.access_token.v3.AccessTokenCredentials`, token: 't' },
      ],
    },
  }),
  filter_enabled: { default_value: { numerator: 0 } },
  deny_at_disable: { default_value: false, runtime_key: 'deny' },
  allowed_headers: { patterns: [{ prefix: 'x-' }] },
  disallowed_headers: { patterns: [{ exact: 'x-secret' }] },
  decoder_header_mutation_rules: {
    allow_expression: { regex: 'x-.*' },
    disallow_expression: { regex: 'x-secret' },
    disallow_is_error: true,
  },
};
const mutations: Json = {
  request_mutations: [
    { append: { header: { key: 'x-a', value: '1' } } },
    { remove: 'x-b' },
    { remove_on_match: { key_matcher: { prefix: 'x-internal-' } } },
  ],
  response_mutations: [{ append: { header: { key: 'x-c', value: '2' } } }],
};
/** What routes may have in place of the configurations of these filters. */
export const filterOverrides: Json = {
  authorization: optional({ '@type': `${HTTP}.ext_authz.v3.ExtAuthzPerRoute`, check_settings: {} }),
  mutation: optional({ '@type': `${HTTP}.header_mutation.v3.HeaderMutationPerRoute`, mutations }),
};
/** One HTTP filter of each kind, and one that is unknown. Those behind a flag are optional. */
export const filters: readonly Json[] = [
  { name: 'fault', typed_config: faultConfig },
  { name: 'composite', typed_config: composite },
  { name: 'session', typed_config: session },
  { name: 'authn', typed_config: authn },
  { name: 'authorization', is_optional: true, typed_config: authorization },
  {
    name: 'mutation',
    is_optional: true,
    typed_config: { '@type': `${HTTP}.header_mutation.v3.HeaderMutation`, mutations },
  },
  {
    name: 'limit',
    is_optional: true,
    typed_config: {
      '@type': `${HTTP}.local_ratelimit.v3.LocalRateLimit`,
      stat_prefix: 'limit',
      token_bucket: { max_tokens: 1_000_000, tokens_per_fill: 1000, fill_interval: '1s' },
    },
  },
  {
    name: 'unknown',
    is_optional: true,
    typed_config: { '@type': `${LB}.round_robin.v3.RoundRobin` },
  },
  routerFilter,
];
