// Listeners, each a valid one with one change.
import { typed } from '../harness/resources.mjs';

const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const router = {
  name: 'router',
  typed_config: typed('envoy.extensions.filters.http.router.v3.Router'),
};
const fault = (config) => ({
  name: 'fault',
  typed_config: typed('envoy.extensions.filters.http.fault.v3.HTTPFault', config),
});
const session = (state) => ({
  name: 'session',
  typed_config: typed('envoy.extensions.filters.http.stateful_session.v3.StatefulSession', state),
});
const cookieState = (cookie) => ({
  session_state: {
    name: 'cookie',
    typed_config: typed(
      'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState',
      {
        ...(cookie !== undefined && { cookie }),
      },
    ),
  },
});
const unknownFilter = { name: 'unknown', typed_config: typed('interop.test.UnknownFilter') };
const structFilter = {
  name: 'struct',
  typed_config: typed('xds.type.v3.TypedStruct', {
    type_url: 'type.googleapis.com/interop.test.UnknownFilter',
    value: {},
  }),
};
const envoyFilter = (folder, type) => ({
  name: folder,
  typed_config: typed(`envoy.extensions.filters.http.${folder}.v3.${type}`),
});
const notFilter = { name: 'not a filter', typed_config: typed('envoy.config.cluster.v3.Cluster') };
const inline = {
  name: 'inline',
  virtual_hosts: [{ name: 'all', domains: ['*'], routes: [] }],
};
const percentage = (numerator, denominator = 'HUNDRED') => ({ numerator, denominator });

/** With these changes of the HttpConnectionManager. */
const hcm =
  (changes, rest = {}) =>
  (name) => ({
    name,
    api_listener: {
      api_listener: typed(HCM, {
        rds: { route_config_name: `${name}-routes`, config_source: { ads: {} } },
        http_filters: [router],
        ...changes,
      }),
    },
    ...rest,
  });
/** With another source of routes. */
const routes = (source) => (name) => {
  const listener = hcm(source)(name);
  delete listener.api_listener.api_listener.rds;
  return listener;
};
const filters = (...list) => hcm({ http_filters: list });
const rds = (changes) => (name) =>
  hcm({ rds: { route_config_name: `${name}-routes`, config_source: { ads: {} }, ...changes } })(
    name,
  );
const duration = (max_stream_duration) =>
  hcm({ common_http_protocol_options: { max_stream_duration } });
const address = { socket_address: { address: '0.0.0.0', port_value: 80 } };

export const listenerVariants = {
  'as it should be': hcm({}),
  'with an address, too': hcm({}, { address }),
  'with an address and one filter chain': hcm({}, { address, filter_chains: [{}] }),
  'neither API listener nor address': (name) => ({ name }),
  'an empty API listener': (name) => ({ name, api_listener: {} }),
  'an address only': (name) => ({ name, address }),
  'an API listener of unknown type': (name) => ({
    name,
    api_listener: { api_listener: typed('interop.test.Unknown') },
  }),
  'an API listener of the type Cluster': (name) => ({
    name,
    api_listener: { api_listener: typed('envoy.config.cluster.v3.Cluster') },
  }),
  'RDS from self': rds({ config_source: { self: {} } }),
  'RDS without a source': rds({ config_source: undefined }),
  'RDS with an empty source': rds({ config_source: {} }),
  'RDS from a path': rds({ config_source: { path: '/tmp/x' } }),
  'RDS from an API': rds({ config_source: { api_config_source: { api_type: 'GRPC' } } }),
  'RDS with an empty name': rds({ route_config_name: '' }),
  'RDS with an xdstp name in capitals': rds({
    route_config_name: 'XDSTP://a.test/envoy.config.route.v3.RouteConfiguration/x',
  }),
  'no routes': routes({}),
  'inline routes': routes({ route_config: inline }),
  'inline routes without a virtual host': routes({ route_config: { name: 'inline' } }),
  'inline routes that are wrong': routes({
    route_config: {
      name: 'inline',
      virtual_hosts: [{ name: 'all', domains: ['*'], routes: [{ route: { cluster: 'x' } }] }],
    },
  }),
  'scoped routes': routes({ scoped_routes: { name: 'scopes' } }),
  'no filter': filters(),
  'the router twice': filters(router, router),
  'the router before another filter': filters(router, fault({})),
  'the router last': filters(fault({}), router),
  'no router': filters(fault({})),
  'two filters of one name': filters({ ...fault({}), name: 'router' }, router),
  'a filter without a name': filters({ ...fault({}), name: '' }, router),
  'a filter without a configuration': filters({ name: 'empty' }, router),
  'an optional filter without a configuration': filters(
    { name: 'empty', is_optional: true },
    router,
  ),
  'an unknown filter': filters(unknownFilter, router),
  'an unknown optional filter': filters({ ...unknownFilter, is_optional: true }, router),
  'an unknown optional filter last': filters(router, { ...unknownFilter, is_optional: true }),
  'an unknown filter in a TypedStruct': filters(structFilter, router),
  'an unknown optional filter in a TypedStruct': filters(
    { ...structFilter, is_optional: true },
    router,
  ),
  // What Envoy has, and clients only with a variable of their own, if at all.
  'a filter of Envoy: ext_authz': filters(envoyFilter('ext_authz', 'ExtAuthz'), router),
  'a filter of Envoy: header_mutation': filters(
    envoyFilter('header_mutation', 'HeaderMutation'),
    router,
  ),
  'a filter of Envoy: local_ratelimit': filters(
    envoyFilter('local_ratelimit', 'LocalRateLimit'),
    router,
  ),
  'a filter of Envoy, optional': filters(
    { ...envoyFilter('header_mutation', 'HeaderMutation'), is_optional: true },
    router,
  ),
  'a filter that is a cluster': filters(notFilter, router),
  'a disabled filter': filters({ ...fault({}), disabled: true }, router),
  'filter configuration by discovery': filters({ name: 'x', config_discovery: {} }, router),
  'filter configuration by discovery, optional': filters(
    { name: 'x', config_discovery: {}, is_optional: true },
    router,
  ),
  'RBAC for servers': filters(
    { name: 'rbac', typed_config: typed('envoy.extensions.filters.http.rbac.v3.RBAC') },
    router,
  ),
  'an empty fault': filters(fault({}), router),
  'a delay': filters(fault({ delay: { fixed_delay: '1s', percentage: percentage(10) } }), router),
  'a delay without a duration': filters(fault({ delay: { percentage: percentage(10) } }), router),
  'a delay by header': filters(
    fault({ delay: { header_delay: {}, percentage: percentage(10) } }),
    router,
  ),
  'a delay without a percentage': filters(fault({ delay: { fixed_delay: '1s' } }), router),
  'a delay that is negative': filters(
    fault({ delay: { fixed_delay: '-1s', percentage: percentage(10) } }),
    router,
  ),
  'an abort by HTTP status': filters(
    fault({ abort: { http_status: 503, percentage: percentage(10) } }),
    router,
  ),
  'an abort by HTTP status 99': filters(
    fault({ abort: { http_status: 99, percentage: percentage(10) } }),
    router,
  ),
  'an abort by HTTP status 0': filters(
    fault({ abort: { http_status: 0, percentage: percentage(10) } }),
    router,
  ),
  'an abort by gRPC status': filters(
    fault({ abort: { grpc_status: 14, percentage: percentage(10) } }),
    router,
  ),
  'an abort by gRPC status 17': filters(
    fault({ abort: { grpc_status: 17, percentage: percentage(10) } }),
    router,
  ),
  'an abort by gRPC status 0': filters(
    fault({ abort: { grpc_status: 0, percentage: percentage(10) } }),
    router,
  ),
  'an abort by header': filters(
    fault({ abort: { header_abort: {}, percentage: percentage(10) } }),
    router,
  ),
  'an abort without a status': filters(fault({ abort: { percentage: percentage(10) } }), router),
  'an abort in more than all calls': filters(
    fault({ abort: { http_status: 503, percentage: percentage(200) } }),
    router,
  ),
  'an abort with an unknown denominator': filters(
    fault({ abort: { http_status: 503, percentage: percentage(1, 7) } }),
    router,
  ),
  'faults in a number of calls': filters(fault({ max_active_faults: 5 }), router),
  'faults for some headers': filters(
    fault({ headers: [{ name: 'x', string_match: { exact: 'y' } }] }),
    router,
  ),
  'a session without state': filters(session({}), router),
  'a session by cookie': filters(
    session(cookieState({ name: 'c', path: '/', ttl: '10s' })),
    router,
  ),
  'a session by cookie without a name': filters(session(cookieState({ path: '/' })), router),
  'a session by cookie without a path': filters(session(cookieState({ name: 'c' })), router),
  'a session without a cookie': filters(session(cookieState(undefined)), router),
  'a session with a negative time to live': filters(
    session(cookieState({ name: 'c', ttl: '-1s' })),
    router,
  ),
  'a session of unknown state': filters(
    session({ session_state: { name: 'x', typed_config: typed('interop.test.Unknown') } }),
    router,
  ),
  'the longest stream: 1 s': duration('1s'),
  'the longest stream: 0 s': duration('0s'),
  'the longest stream: negative': duration('-1s'),
  'the longest stream: too many seconds': hcm({
    common_http_protocol_options: { max_stream_duration: '315576000000s' },
  }),
  'trusted hops': hcm({ xff_num_trusted_hops: 1 }),
  'detection of the original address': hcm({
    original_ip_detection_extensions: [{ name: 'x', typed_config: typed('interop.test.Unknown') }],
  }),
  'an idle timeout, which is for proxies': hcm({
    common_http_protocol_options: { idle_timeout: '5s' },
  }),
  'a prefix for statistics': hcm({ stat_prefix: 'x' }),
};
