// RouteConfigurations, each a valid one with one change.
import { typed } from '../harness/resources.mjs';

const CLUSTER = 'differential-nowhere';
const good = { match: { prefix: '' }, route: { cluster: CLUSTER } };
const host = (changes = {}) => ({ name: 'all', domains: ['*'], routes: [good], ...changes });
const hosts =
  (...virtual_hosts) =>
  (name) => ({ name, virtual_hosts });
const domains = (...list) => hosts(host({ domains: list }));
const routeList = (...list) => hosts(host({ routes: list }));
const match = (changes) => routeList({ ...good, match: changes });
const header = (matcher, name = 'x') => match({ prefix: '', headers: [{ name, ...matcher }] });
const action = (changes) => routeList({ match: { prefix: '' }, route: changes });
const withCluster = (changes) => action({ cluster: CLUSTER, ...changes });
const weighted = (clusters, changes = {}) =>
  action({ weighted_clusters: { clusters, ...changes } });
const retry = (policy) => withCluster({ retry_policy: policy });
const backOff = (retry_back_off) => retry({ retry_on: 'unavailable', retry_back_off });
const hash = (...hash_policy) => withCluster({ hash_policy });
const string = (string_match) => header({ string_match });
const addedHeaders = {
  request_headers_to_add: [{ header: { key: 'x', value: '1' } }],
  response_headers_to_add: [{ header: { key: 'x', value: '1' } }],
};
const regex = (text) => ({ google_re2: {}, regex: text });
const fraction = (numerator, denominator = 'HUNDRED') =>
  match({ prefix: '', runtime_fraction: { default_value: { numerator, denominator } } });
const overrides = (config) => hosts(host({ typed_per_filter_config: { fault: config } }));
const faultConfig = typed('envoy.extensions.filters.http.fault.v3.HTTPFault');
const filterConfig = (changes) => typed('envoy.config.route.v3.FilterConfig', changes);
const unknown = typed('interop.test.Unknown');
const plugins =
  (plugin, changes = {}) =>
  (name) => ({
    name,
    cluster_specifier_plugins: [plugin],
    virtual_hosts: [host(changes)],
  });
/** Plugins of an unknown type, all of them optional, and no route that uses one. */
const optionalPlugins =
  (...list) =>
  (name) => ({
    name,
    cluster_specifier_plugins: list.map((plugin) => ({ ...plugin, is_optional: true })),
    virtual_hosts: [host()],
  });
const usesPlugin = {
  routes: [{ match: { prefix: '' }, route: { cluster_specifier_plugin: 'p' } }],
};
const pluginOf = (typed_config) => ({ extension: { name: 'p', typed_config } });

export const routeVariants = {
  'as it should be': hosts(host()),
  'no virtual host': hosts(),
  'a virtual host without a name': hosts(host({ name: '' })),
  'two virtual hosts': hosts(host({ domains: ['a.test'] }), host({ name: 'b' })),
  'two virtual hosts of one name': hosts(host({ domains: ['a.test'] }), host()),
  'two virtual hosts for one domain': hosts(
    host({ domains: ['a.test'] }),
    host({ domains: ['a.test'] }),
  ),
  'a virtual host without routes': hosts(host({ routes: [] })),
  'no domain': domains(),
  'an empty domain': domains(''),
  'a domain': domains('a.test'),
  'a domain twice': domains('a.test', 'a.test'),
  'a suffix': domains('*.test'),
  'a prefix': domains('a.*'),
  'a star inside': domains('a.*.test'),
  'a star at both ends': domains('*a*'),
  'two stars': domains('**'),
  'no match': routeList({ route: { cluster: CLUSTER } }),
  'an empty match': match({}),
  'prefix /': match({ prefix: '/' }),
  'prefix /service/': match({ prefix: '/service/' }),
  'prefix without a slash': match({ prefix: 'service/' }),
  'prefix //': match({ prefix: '//' }),
  'prefix with three slashes': match({ prefix: '/a/b/c' }),
  'a path': match({ path: '/service/method' }),
  'an empty path': match({ path: '' }),
  'a path without a slash': match({ path: 'service/method' }),
  'a path without a method': match({ path: '/service' }),
  'a path with an empty service': match({ path: '//method' }),
  'a path with an empty method': match({ path: '/service/' }),
  'a path with three parts': match({ path: '/a/b/c' }),
  'a regular expression': match({ safe_regex: regex('/a.*') }),
  'a regular expression without engine': match({ safe_regex: { regex: '/a.*' } }),
  'an empty regular expression': match({ safe_regex: regex('') }),
  'a regular expression that is none': match({ safe_regex: regex('[a') }),
  'a regular expression with a back reference': match({ safe_regex: regex('(a)\\1') }),
  'a regular expression that looks ahead': match({ safe_regex: regex('a(?=b)') }),
  'a regular expression with a named group': match({ safe_regex: regex('(?P<x>a)') }),
  'a regular expression repeated 1001 times': match({ safe_regex: regex('a{1001}') }),
  'a connect matcher': match({ connect_matcher: {} }),
  'a path-separated prefix': match({ path_separated_prefix: '/a' }),
  'query parameters': match({ prefix: '', query_parameters: [{ name: 'x', present_match: true }] }),
  'case does not matter': match({ path: '/a/b', case_sensitive: false }),
  'a share of the calls': fraction(50),
  'a share of more than all': fraction(200),
  'a share of a million': fraction(5, 'MILLION'),
  'a share with an unknown denominator': fraction(5, 9),
  'a share without a value': match({ prefix: '', runtime_fraction: { runtime_key: 'x' } }),
  'header: exact': header({ exact_match: 'a' }),
  'header: empty exact': header({ exact_match: '' }),
  'header: prefix': header({ prefix_match: 'a' }),
  'header: empty prefix': header({ prefix_match: '' }),
  'header: suffix': header({ suffix_match: 'a' }),
  'header: empty suffix': header({ suffix_match: '' }),
  'header: contains': header({ contains_match: 'a' }),
  'header: empty contains': header({ contains_match: '' }),
  'header: regular expression': header({ safe_regex_match: regex('a') }),
  'header: empty regular expression': header({ safe_regex_match: regex('') }),
  'header: regular expression that is none': header({ safe_regex_match: regex('a(') }),
  'header: range': header({ range_match: { start: 1, end: 5 } }),
  'header: empty range': header({ range_match: { start: 5, end: 5 } }),
  'header: range backwards': header({ range_match: { start: 5, end: 1 } }),
  'header: range of negatives': header({ range_match: { start: -5, end: -1 } }),
  'header: present': header({ present_match: true }),
  'header: not present': header({ present_match: false }),
  'header: inverted': header({ present_match: true, invert_match: true }),
  'header: no condition': header({}),
  'header: without a name': header({ present_match: true }, ''),
  'header: name with capitals': header({ present_match: true }, 'Content-Type'),
  'header: pseudo header': header({ present_match: true }, ':path'),
  'header: binary': header({ present_match: true }, 'x-bin'),
  'string: exact': string({ exact: 'a' }),
  'string: empty exact': string({ exact: '' }),
  'string: prefix': string({ prefix: 'a' }),
  'string: empty prefix': string({ prefix: '' }),
  'string: suffix': string({ suffix: 'a' }),
  'string: empty suffix': string({ suffix: '' }),
  'string: contains': string({ contains: 'a' }),
  'string: empty contains': string({ contains: '' }),
  'string: regular expression': string({ safe_regex: regex('a') }),
  'string: regular expression that is none': string({ safe_regex: regex('*') }),
  'string: no condition': string({}),
  'string: case does not matter': string({ exact: 'a', ignore_case: true }),
  'string: regular expression, case does not matter': string({
    safe_regex: regex('a'),
    ignore_case: true,
  }),
  'no action': routeList({ match: { prefix: '' } }),
  'a redirect': routeList({ match: { prefix: '' }, redirect: { host_redirect: 'x' } }),
  'a direct response': routeList({ match: { prefix: '' }, direct_response: { status: 404 } }),
  'a non-forwarding action': routeList({ match: { prefix: '' }, non_forwarding_action: {} }),
  'no cluster': action({}),
  'an empty cluster': action({ cluster: '' }),
  'a cluster by header': action({ cluster_header: 'x' }),
  'a cluster by an unknown plugin': action({ cluster_specifier_plugin: 'missing' }),
  'weighted clusters': weighted([
    { name: 'a', weight: 1 },
    { name: 'b', weight: 2 },
  ]),
  'no weighted clusters': weighted([]),
  'one weighted cluster of weight 0': weighted([{ name: 'a', weight: 0 }]),
  'one weighted cluster without a weight': weighted([{ name: 'a' }]),
  'a weighted cluster of weight 0 beside another': weighted([
    { name: 'a', weight: 0 },
    { name: 'b', weight: 1 },
  ]),
  'a weighted cluster without a name': weighted([{ name: '', weight: 1 }]),
  'a weighted cluster without a name, of weight 0': weighted([
    { name: '', weight: 0 },
    { name: 'b', weight: 1 },
  ]),
  'a weighted cluster by header': weighted([{ cluster_header: 'x', weight: 1 }]),
  'weights of 2^32 - 1 in all': weighted([
    { name: 'a', weight: 4294967294 },
    { name: 'b', weight: 1 },
  ]),
  'weights above 2^32 - 1 in all': weighted([
    { name: 'a', weight: 4294967295 },
    { name: 'b', weight: 1 },
  ]),
  'weights that are not the total': weighted([{ name: 'a', weight: 1 }], { total_weight: 100 }),
  'the same weighted cluster twice': weighted([
    { name: 'a', weight: 1 },
    { name: 'a', weight: 2 },
  ]),
  'an override in a weighted cluster': weighted([
    { name: 'a', weight: 1, typed_per_filter_config: { fault: faultConfig } },
  ]),
  'an unknown override in a weighted cluster': weighted([
    { name: 'a', weight: 1, typed_per_filter_config: { fault: unknown } },
  ]),
  'a timeout': withCluster({ timeout: '1s' }),
  'a negative timeout': withCluster({ timeout: '-1s' }),
  'the longest stream': withCluster({ max_stream_duration: { max_stream_duration: '1s' } }),
  'the longest stream: negative': withCluster({
    max_stream_duration: { max_stream_duration: '-1s' },
  }),
  'the longest stream by header': withCluster({
    max_stream_duration: { grpc_timeout_header_max: '1s' },
  }),
  'the longest stream by header: negative': withCluster({
    max_stream_duration: { grpc_timeout_header_max: '-1s' },
  }),
  retries: retry({ retry_on: 'unavailable,cancelled', num_retries: 2 }),
  'retries on nothing': retry({}),
  'retries on something unknown': retry({ retry_on: '5xx' }),
  'retries: 0': retry({ retry_on: 'unavailable', num_retries: 0 }),
  'retries with blanks': retry({ retry_on: ' unavailable , internal' }),
  'retries: back-off': backOff({ base_interval: '0.1s', max_interval: '1s' }),
  'retries: back-off without the longest': backOff({ base_interval: '0.1s' }),
  'retries: back-off without the base': backOff({ max_interval: '1s' }),
  'retries: back-off of 0': backOff({ base_interval: '0s' }),
  'retries: negative back-off': backOff({ base_interval: '-1s' }),
  'retries: longest below the base': backOff({ base_interval: '1s', max_interval: '0.5s' }),
  'retries: longest of 0': backOff({ base_interval: '1s', max_interval: '0s' }),
  'retries of a virtual host': hosts(host({ retry_policy: { retry_on: 'unavailable' } })),
  'retries of a virtual host: 0': hosts(
    host({ retry_policy: { retry_on: 'unavailable', num_retries: 0 } }),
  ),
  'hash: header': hash({ header: { header_name: 'x' } }),
  'hash: header without a name': hash({ header: { header_name: '' } }),
  'hash: rewritten': hash({
    header: { header_name: 'x', regex_rewrite: { pattern: regex('a'), substitution: 'b' } },
  }),
  'hash: rewritten without a pattern': hash({
    header: { header_name: 'x', regex_rewrite: { substitution: 'b' } },
  }),
  'hash: rewritten by an empty pattern': hash({
    header: { header_name: 'x', regex_rewrite: { pattern: regex(''), substitution: 'b' } },
  }),
  'hash: rewritten by what is no regular expression': hash({
    header: { header_name: 'x', regex_rewrite: { pattern: regex('('), substitution: 'b' } },
  }),
  'hash: rewritten with an odd backslash': hash({
    header: { header_name: 'x', regex_rewrite: { pattern: regex('a'), substitution: '\\x' } },
  }),
  'hash: channel id': hash({ filter_state: { key: 'io.grpc.channel_id' } }),
  'hash: another filter state': hash({ filter_state: { key: 'other' } }),
  'hash: cookie': hash({ cookie: { name: 'c' } }),
  'hash: source address': hash({ connection_properties: { source_ip: true } }),
  'hash: nothing': hash({}),
  'hash: terminal': hash({ header: { header_name: 'x' }, terminal: true }),
  'the host is rewritten': withCluster({ auto_host_rewrite: true }),
  'the host is rewritten by a text': withCluster({ host_rewrite_literal: 'x' }),
  'headers are added and removed': hosts(
    host({ ...addedHeaders, request_headers_to_remove: ['y'] }),
  ),
  'a time for each try': retry({ retry_on: 'unavailable', per_try_timeout: '1s' }),
  'a mirror': withCluster({ request_mirror_policies: [{ cluster: 'x' }] }),
  'an override': overrides(faultConfig),
  'an override of a filter without a name': hosts(
    host({ typed_per_filter_config: { '': faultConfig } }),
  ),
  'an unknown override': overrides(unknown),
  'an override that may be ignored': overrides(
    filterConfig({ config: unknown, is_optional: true }),
  ),
  'an unknown override in a FilterConfig': overrides(filterConfig({ config: unknown })),
  'an override in a FilterConfig': overrides(filterConfig({ config: faultConfig })),
  'an empty override': overrides(filterConfig({})),
  'an override that disables': overrides(filterConfig({ disabled: true })),
  'an override of a route': routeList({ ...good, typed_per_filter_config: { fault: faultConfig } }),
  'an unknown override of a route': routeList({
    ...good,
    typed_per_filter_config: { fault: unknown },
  }),
  'an unknown plugin that is used': plugins(pluginOf(unknown), usesPlugin),
  'an unknown plugin that is not used': plugins(pluginOf(unknown)),
  'an unknown optional plugin': plugins({ ...pluginOf(unknown), is_optional: true }, usesPlugin),
  'a plugin without configuration': plugins({ extension: { name: 'p' } }),
  'a plugin without a name': plugins({ extension: { name: '', typed_config: unknown } }),
  'optional plugins of one name': optionalPlugins(pluginOf(unknown), pluginOf(unknown)),
  'an optional plugin without an extension': optionalPlugins({}),
  'an optional plugin with an empty extension': optionalPlugins({ extension: {} }),
  'an optional plugin without a configuration': optionalPlugins({ extension: { name: 'p' } }),
  'an optional plugin without a name': optionalPlugins({ extension: { typed_config: unknown } }),
  'a good route after a bad one': routeList({ match: {}, route: { cluster: CLUSTER } }, good),
  'a route that matches nothing after a good one': routeList(good, {
    match: { prefix: 'nothing' },
    route: { cluster: '' },
  }),
};
