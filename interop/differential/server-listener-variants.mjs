// Listeners of servers, each a valid one with one change: addresses, filter chains and their matches, HttpConnectionManagers.
import { typed } from '../harness/resources.mjs';
import {
  addressOf,
  chain,
  chains,
  filters,
  hcm,
  httpFilter,
  listener,
  manager,
  router,
  routesWith,
  unknownFilter,
} from './server-listener.mjs';

const TCP_PROXY = 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy';
const tcpProxy = { name: 'proxy', typed_config: typed(TCP_PROXY, { stat_prefix: 'x' }) };

/** With another address. */
const address = (changes) =>
  listener(({ host, port }) => ({
    address: { socket_address: { address: host, port_value: port, ...changes } },
  }));

/** With filters of one filter chain. */
const networkFilters = (...list) => chains(chain(undefined, { filters: list }));

/** With one filter chain that has this match; `rest` is another, so that not all of them match nothing. */
const match = (criteria) => chains(chain(criteria));
const matchAndRest = (criteria) =>
  listener({ filter_chains: [chain(criteria)], default_filter_chain: chain() });

/** With filter chains that have these matches. */
const matches = (...list) =>
  listener({
    filter_chains: list.map((criteria) => chain(criteria)),
    default_filter_chain: chain(),
  });

const range = (text) => {
  const [address_prefix, prefix_len] = text.split('/');
  return { address_prefix, ...(prefix_len !== undefined && { prefix_len: Number(prefix_len) }) };
};
const to = (...texts) => ({ prefix_ranges: texts.map(range) });
const from = (...texts) => ({ source_prefix_ranges: texts.map(range) });

const typedStruct = (type, value = {}) =>
  typed('xds.type.v3.TypedStruct', { type_url: `type.googleapis.com/${type}`, value });
const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

const rds = (config_source, route_config_name = 'routes') =>
  hcm({ route_config: undefined, rds: { config_source, route_config_name } });

const fault = (rest) =>
  httpFilter('fault', 'envoy.extensions.filters.http.fault.v3.HTTPFault', {}, rest);
const session = (rest) =>
  httpFilter(
    'session',
    'envoy.extensions.filters.http.stateful_session.v3.StatefulSession',
    {},
    rest,
  );
const gcp = (rest) =>
  httpFilter('gcp', 'envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig', {}, rest);

const listeners = {
  'as it should be': listener(),
  'without a name': listener({ name: '' }),
  'listener filters': listener({
    listener_filters: [{ name: 'x', typed_config: typed('interop.test.Unknown') }],
  }),
  'original destination': listener({ use_original_dst: true }),
  'original destination: false': listener({ use_original_dst: false }),
  'no address': listener({ address: undefined }),
  'a pipe': listener({ address: { pipe: { path: '/tmp/x' } } }),
  'an internal address': listener({
    address: { envoy_internal_address: { server_listener_name: 'x' } },
  }),
  'an empty address': listener({ address: { socket_address: { port_value: 1 } } }),
  'a host name': address({ address: 'localhost' }),
  'another address': address({ address: '10.1.1.1' }),
  'another port': address({ port_value: 1 }),
  'port 0': address({ port_value: 0 }),
  'port 65536': address({ port_value: 65_536 }),
  'a named port': address({ port_value: undefined, named_port: 'http' }),
  UDP: address({ protocol: 'UDP' }),
  inbound: listener({ traffic_direction: 'INBOUND' }),
  outbound: listener({ traffic_direction: 'OUTBOUND' }),
  'additional addresses': listener((server) => ({
    additional_addresses: [{ address: addressOf({ ...server, host: '10.1.1.1' }) }],
  })),
  'an API listener': listener({
    filter_chains: [],
    api_listener: { api_listener: manager().typed_config },
  }),
  'no filter chain': chains(),
  'a default filter chain only': listener({ filter_chains: [], default_filter_chain: chain() }),
  'a default filter chain with a match': listener({
    default_filter_chain: chain({ destination_port: 1 }),
  }),
  'a default filter chain with an invalid match': listener({
    default_filter_chain: chain({ prefix_ranges: [{ address_prefix: 'shop', prefix_len: 8 }] }),
  }),
  'a default filter chain with an unknown source type': listener({
    default_filter_chain: chain({ source_type: 7 }),
  }),
  'a default filter chain with a source port twice': listener({
    default_filter_chain: chain({ source_ports: [1, 1] }),
  }),
  'a default filter chain without filters': listener({
    default_filter_chain: chain(undefined, { filters: [] }),
  }),
};

const networks = {
  'no network filter': networkFilters(),
  'another network filter': networkFilters(tcpProxy),
  'a network filter before the manager': networkFilters(tcpProxy, manager()),
  'a network filter after the manager': networkFilters(manager(), tcpProxy),
  'a network filter in a TypedStruct': networkFilters({
    name: 'struct',
    typed_config: typedStruct(TCP_PROXY, {}),
  }),
  'a manager in a TypedStruct': networkFilters({
    name: 'struct',
    typed_config: typedStruct(HCM, {}),
  }),
  'two managers': networkFilters(manager(), { ...manager(), name: 'other' }),
  'two managers of one name': networkFilters(manager(), manager()),
  'a manager without a name': networkFilters({ ...manager(), name: '' }),
  'a network filter without a configuration': networkFilters({ name: 'x' }),
  'a network filter by discovery': networkFilters({ name: 'x', config_discovery: {} }),
};

const matching = {
  'two without a match': chains(chain(), chain()),
  'without a match, and with an empty one': chains(chain(), chain({})),
  'an unset and an empty range': matches({}, to('0.0.0.0/0')),
  'one range twice in a match': match(to('10.0.0.0/8', '10.0.0.0/8')),
  'one range in two': matches(to('10.0.0.0/8'), to('10.0.0.0/8')),
  'one range with other bits after the prefix': matches(to('10.0.0.1/8'), to('10.0.0.2/8')),
  'one of several ranges in two': matches(
    to('10.0.0.0/8', '11.0.0.0/8'),
    to('12.0.0.0/8', '11.0.0.0/8'),
  ),
  'a range within another': matches(to('10.0.0.0/8'), to('10.1.0.0/16')),
  'a range without a length': match(to('10.0.0.0')),
  'ranges without a length, of one family': matches(to('10.0.0.0'), to('11.0.0.0')),
  'a length beyond the address': match(to('10.0.0.0/33')),
  'a range that is no address': match(to('shop/8')),
  'a range with a scope': match(to('fe80::1%eth0/64')),
  'ranges of IPv6 in two spellings': matches(to('2001:db8::/32'), to('2001:0db8:0::/32')),
  'an IPv4-mapped range': match(to('::ffff:10.0.0.0/104')),
  'a source range twice': matches(from('10.0.0.0/8'), from('10.0.0.0/8')),
  'a source range that is no address': match(from('shop/8')),
  'a direct source range': match({ direct_source_prefix_ranges: [range('10.0.0.0/8')] }),
  'a destination port, and the rest': matchAndRest({ destination_port: 80 }),
  'a destination port alone': match({ destination_port: 80 }),
  'a destination port of 0': match({ destination_port: 0 }),
  'one destination port in two': matches({ destination_port: 80 }, { destination_port: 80 }),
  'server names, and the rest': matchAndRest({ server_names: ['a'] }),
  'server names alone': match({ server_names: ['a'] }),
  'one server name in two': matches({ server_names: ['a', 'b'] }, { server_names: ['b'] }),
  'application protocols, and the rest': matchAndRest({ application_protocols: ['h2'] }),
  'one application protocol in two': matches(
    { application_protocols: ['h2'] },
    { application_protocols: ['h2'] },
  ),
  'the transport protocol tls': matchAndRest({ transport_protocol: 'tls' }),
  'the transport protocol raw_buffer': match({ transport_protocol: 'raw_buffer' }),
  'the transport protocol raw_buffer, and none': matches({ transport_protocol: 'raw_buffer' }, {}),
  'the transport protocol tls in two': matches(
    { transport_protocol: 'tls' },
    { transport_protocol: 'tls' },
  ),
  'a server name twice in a match': matchAndRest({ server_names: ['a', 'a'] }),
  'each source type': matches(
    {},
    { source_type: 'SAME_IP_OR_LOOPBACK' },
    { source_type: 'EXTERNAL' },
  ),
  'one source type in two': matches({ source_type: 'EXTERNAL' }, { source_type: 'EXTERNAL' }),
  'an unknown source type': match({ source_type: 7 }),
  'source ports': matches({ source_ports: [1, 2] }, { source_ports: [3] }),
  'one source port in two': matches({ source_ports: [1, 2] }, { source_ports: [2, 3] }),
  'a source port twice in a match': match({ source_ports: [1, 1] }),
  'a source port of 0': match({ source_ports: [0] }),
  'a source port of 65536': match({ source_ports: [65_536] }),
  'one that matches nothing, with an invalid filter': listener({
    filter_chains: [chain({ server_names: ['a'] }, { filters: [tcpProxy] })],
    default_filter_chain: chain(),
  }),
  'one name of two filter chains': listener({
    filter_chains: [chain({}, { name: 'a' }), chain({ source_ports: [2] }, { name: 'a' })],
  }),
};

const managers = {
  'trusted hops': hcm({ xff_num_trusted_hops: 1 }),
  'detection of the original address': hcm({
    original_ip_detection_extensions: [{ name: 'x', typed_config: typed('interop.test.Unknown') }],
  }),
  'no routes': hcm({ route_config: undefined }),
  'RDS from ADS': rds({ ads: {} }),
  'RDS from self': rds({ self: {} }),
  'RDS from a path': rds({ path: '/tmp/x' }),
  'RDS without a source': rds(undefined),
  'RDS without a name': rds({ ads: {} }, ''),
  'scoped routes': hcm({ route_config: undefined, scoped_routes: { name: 'x' } }),
  'a route to a cluster': hcm(
    routesWith({ non_forwarding_action: undefined, route: { cluster: 'x' } }),
  ),
  'a route without an action': hcm(routesWith({ non_forwarding_action: undefined })),
  'a redirect': hcm(routesWith({ non_forwarding_action: undefined, redirect: {} })),
  'a route without a match': hcm(routesWith({ match: undefined })),
  'a route to no cluster': hcm(
    routesWith({ non_forwarding_action: undefined, route: { cluster: '' } }),
  ),
  'a regular expression that is none': hcm(routesWith({ match: { safe_regex: { regex: '(' } } })),
  'no virtual host': hcm({ route_config: { name: 'inline' } }),
  'no filter': hcm({ http_filters: [] }),
  'an unknown optional filter only': hcm({ http_filters: [unknownFilter({ is_optional: true })] }),
  'an unknown optional filter last': hcm({
    http_filters: [router, unknownFilter({ is_optional: true })],
  }),
  'no router': hcm({
    http_filters: [httpFilter('rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', {})],
  }),
  'the router first': hcm({
    http_filters: [router, httpFilter('rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', {})],
  }),
  'two routers': filters({ ...router, name: 'first' }),
  'two filters of one name': filters(
    httpFilter('router', 'envoy.extensions.filters.http.rbac.v3.RBAC', {}),
  ),
  'a filter without a name': filters(
    httpFilter('', 'envoy.extensions.filters.http.rbac.v3.RBAC', {}),
  ),
  'a filter without a configuration': filters({ name: 'empty' }),
  'a filter by discovery': filters({ name: 'x', config_discovery: {} }),
  'a filter by discovery, optional': filters({
    name: 'x',
    config_discovery: {},
    is_optional: true,
  }),
  'an unknown filter': filters(unknownFilter()),
  'an unknown filter, optional': filters(unknownFilter({ is_optional: true })),
  'faults, which are for clients': filters(fault()),
  'faults, optional': filters(fault({ is_optional: true })),
  'sessions, which are for clients': filters(session()),
  'sessions, optional': filters(session({ is_optional: true })),
  'GCP authentication, which is for clients': filters(gcp()),
  'GCP authentication, optional': filters(gcp({ is_optional: true })),
  'a disabled filter': filters(
    httpFilter('rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', {}, { disabled: true }),
  ),
  'an idle timeout': hcm({ common_http_protocol_options: { idle_timeout: '5s' } }),
  'a negative longest stream': hcm({
    common_http_protocol_options: { max_stream_duration: '-1s' },
  }),
};

export const serverListenerVariants = { listeners, networks, matching, managers };
