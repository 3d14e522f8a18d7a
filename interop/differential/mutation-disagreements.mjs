// Where the implementations disagree about resources in which one field is changed, and why this package says what it does. Each
// entry has a letter for each of this package, grpc-go, C-core and grpc-java (A for ACK, N for NACK, - for nothing, where an
// exception ends it), the reason, and which titles it is about. The first entry whose pattern matches counts.

const LETTERS = { A: 'ack', N: 'nack', '-': 'none' };
const LANGUAGES = ['node', 'go', 'python', 'java'];

const MISTAKE =
  "in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)";
const DURATION =
  'a duration is not negative: google.protobuf.Duration, as bounded in the schema of Envoy; C-core refuses it as well';
const ADDRESS = 'A27: the address is a literal one with a port';
const SIGNED = 'grpc-java reads numbers above 2^31 - 1 as negative';
const NAMED = 'A27, A28: what is to be requested must be named';
const EMPTY = `A41; implementations differ in what it matches; ${MISTAKE}`;

const listeners = [
  [
    'ANAN',
    'A60: the filter stateful_session, which grpc-go and grpc-java do not have',
    /^mutated listener: session/,
  ],
  [
    'ANAN',
    'A83: GCP authentication, which a feature flag enables',
    /^mutated listener: authentication/,
  ],
  [
    'NNNA',
    'A27, A36: a Listener is for clients or for servers',
    /^mutated listener: .*api_listener is unset$/,
  ],
  ['NNAA', NAMED, /^mutated listener: .*rds\.route_config_name is/],
  [
    'NAA-',
    'A33: HUNDRED, TEN_THOUSAND or MILLION',
    /percentage\.denominator is an unknown number$/,
  ],
  ['NAAA', `A33: an HTTP status from 200 to 599; ${MISTAKE}`, /abort\.http_status is \D*\d/],
  ['NAAN', `A33: an abort has a status; ${MISTAKE}`, /abort( is empty|\.\w+ is unset)$/],
  ['NANA', 'A33: a status of gRPC is 0 to 16', /abort\.grpc_status is/],
  ['NAAA', `A33: a delay has a duration; ${MISTAKE}`, /delay( is empty|\.\w+_delay is unset)$/],
];

const filters = [
  [
    'NNNA',
    'A39: filters are named, or no override could be for them',
    /http_filters\[\d\]\.name is/,
  ],
  [
    'NNNA',
    'A39: a TypedStruct is for filters that have no message',
    /http_filters\[\d\]\.typed_config is a TypedStruct$/,
  ],
  [
    'AANA',
    'A39: an override for a filter that does not exist is no error',
    /typed_per_filter_config has an empty key$/,
  ],
  [
    'AANA',
    'an optional override without a configuration is left out, and switches off (decisions/resource-validation.md)',
    /fault\.config is unset$/,
  ],
  ['NANA', 'A39: an override has a type', /fault\.config is of no type$/],
];

const routes = [
  [
    'NAAA',
    'the schema of Envoy requires a default value; ' + MISTAKE,
    /runtime_fraction( is empty|\.default_value is unset)$/,
  ],
  [
    'AAAN',
    'A36: a route without a usable action is valid; calls that it matches fail',
    /routes\[0\]\.(route|non_forwarding_action) is unset$/,
  ],
  ['NANA', 'A27: a virtual host has domains', /virtual_hosts has an empty entry$|\.domains /],
  ['NAAA', `A28: a header has a name; ${MISTAKE}`, /header(s\[\d\])?\.name is/],
  ['NAAA', `A28, A41: ${MISTAKE}`, /safe_regex(_match)?(\.regex)? is/],
  ['NNAA', `A28, A63: ${MISTAKE}`, /(prefix|suffix|contains)(_match)? is empty$/],
  [
    'NANA',
    'A28: a range is half open from start to end; this one can never match',
    /range_match\./,
  ],
  ['NANN', 'A28: HUNDRED, TEN_THOUSAND or MILLION', /runtime_fraction\.default_value\.denominator/],
  ['NANA', NAMED, /route\.cluster is empty$|clusters has an empty entry$|clusters\[0\]\.name is/],
  ['AANA', 'A28: a cluster without a weight is left out', /clusters\[0\]\.weight is unset$/],
  ['NANA', 'A42: the pattern of a rewrite is not empty', /regex_rewrite/],
  ['NANA', 'A42: the header to hash is named', /hash_policy\[0\]\.header/],
  [
    'AANA',
    'an optional plugin of an unknown type is not looked at (decisions/resource-validation.md)',
    /cluster_specifier_plugins/,
  ],
  ['NNAN', 'A44: intervals are more than 0', /route\.retry_policy\.retry_back_off\.\w+ is 0 s$/],
  [
    'NNAA',
    'A44: intervals are more than 0',
    /virtual_hosts\[0\]\.retry_policy\.retry_back_off\.\w+ is 0 s$/,
  ],
  [
    'NNNA',
    'A44: at least one retry, and a base interval',
    /retry_policy\.(num_retries|retry_back_off)/,
  ],
];

const clusters = [
  ['NNNA', `A42: at most 8,388,608; ${SIGNED}`, /policy ring_hash: .*maximum_ring_size is 2/],
  [
    'NAAA',
    `A37: no such port exists; ${MISTAKE}`,
    /^mutated cluster: DNS: .*port_value is \D*[1-9]/,
  ],
  ['ANAA', 'A37: the port is set', /^mutated cluster: DNS: .*port_value is 0$/],
  ['NNNA', 'A37: the address is not empty', /^mutated cluster: DNS: .*address is/],
  ['ANAN', 'A37: what is in typed_config decides, and no name', /cluster_type\.name is/],
  [
    'NANN',
    'A37: the type of the configuration is that of an aggregate',
    /cluster_type\.typed_config is/,
  ],
  [
    'NANA',
    'A75: HttpProtocolOptions; grpc-go and grpc-java do not read the field',
    /upstream_config/,
  ],
  [
    'NAAN',
    'A42: 1,024 unless set, which is above the largest here; after an ACK, calls of grpc-go and C-core fail',
    /lb_config\.minimum_ring_size is unset$/,
  ],
  ['NANA', `A42: at most 8,388,608; ${SIGNED}`, /lb_config\.maximum_ring_size is 2/],
  [
    'NANN',
    'A42: 1 to 8,388,608, the smallest not above the largest; grpc-go sends ACK, and its calls fail',
    /m\w+_ring_size is (0|65536|2\^32 - 1)$/,
  ],
  [
    'ANAN',
    'A42: DEFAULT_HASH is XX_HASH',
    /policy ring_hash: .*typed_config( is empty|\.hash_function is)/,
  ],
  ['NANN', 'A48: at least 2', /choice_count is 0$/],
  [
    'AANN',
    `A48: above 10 counts as 10; C-core has least_request behind a switch; ${SIGNED}`,
    /choice_count is 2/,
  ],
  ['AANA', 'A48: least_request, which C-core has behind a switch', /policy least_request/],
  ['AANA', 'A114: names are taken as they are', /metric_names_for_computing_utilization/],
  [
    'NNAN',
    'A50: failure_percentage_threshold is at most 100',
    /failure_percentage_threshold is 65536$/,
  ],
  [
    'NNAA',
    `A50: failure_percentage_threshold is at most 100; ${SIGNED}`,
    /failure_percentage_threshold is 2/,
  ],
  ['NNNA', `A50: a percentage is at most 100; ${SIGNED}`, /outlier_detection\.\w+ is 2/],
];

const tls = [
  ['NNAN', 'A29: the transport socket is envoy.transport_sockets.tls', /transport_socket\.name is/],
  [
    'NANN',
    'A29: the instance is in the bootstrap',
    /tls_certificate_provider_instance( is|\.instance)/,
  ],
  [
    'NAAA',
    'typed matchers are read, as in Envoy; to ignore them would be to accept every certificate (decisions/resource-validation.md)',
    /match_typed_subject_alt_names/,
  ],
  ['NNAA', `A29: ${MISTAKE}`, /match_subject_alt_names\[1\]\.prefix is empty$/],
  ['NNNA', 'A29: a matcher has a pattern', /match_subject_alt_names/],
];

const endpoints = [
  [
    'ANAA',
    'A27: a locality without a weight is left out, so its name does not matter',
    /^mutated endpoint: .*: endpoints has an empty entry$/,
  ],
  ['NNNA', 'A27: a locality has a name', /endpoints\[0\]\.locality is unset$/],
  [
    'NNNA',
    'A27: an address is in an assignment once',
    /(lb_endpoints|additional_addresses) has its first entry twice$/,
  ],
  ['NNNA', 'A27: weights are more than 0', /lb_endpoints\[0\]\.load_balancing_weight is 0$/],
  ['NAAA', ADDRESS, /^mutated endpoint: .*port_value is unset$/],
  [
    'NANA',
    `A61, A27: ${ADDRESS}; grpc-java does not read additional_addresses`,
    /additional_addresses/,
  ],
  ['NAN-', 'no such port exists; C-core refuses it as well', /^mutated endpoint: .*port_value is/],
  [
    'NANN',
    ADDRESS,
    /^mutated endpoint: .*(lb_endpoints has an empty entry|lb_endpoints\[0\]\.endpoint)/,
  ],
  ['NNN-', 'A27: HUNDRED, TEN_THOUSAND or MILLION', /drop_percentage\.denominator/],
  [
    'NANA',
    'A27, A32: a drop has a category, which load reports name, and a share',
    /drop_overloads/,
  ],
];

const servers = [
  [
    'NNNA',
    'A29: certificates that are required are validated',
    /validation_context(\.ca_certificate_provider_instance)? is (unset|empty)$/,
  ],
  [
    'AAAN',
    'decisions/resource-validation.md: not OUTBOUND',
    /traffic_direction is an unknown number$/,
  ],
  ['AAAN', 'A36: use_original_dst is not true', /: original destination$/],
  [
    'NNAA',
    "decisions/resource-validation.md: in Envoy's schema the name is not empty",
    /[^_]filters\[0\]\.name is/,
  ],
  [
    'AANN',
    'A36: the default filter chain is for all other connections; its match is not used',
    /default_filter_chain\.filter_chain_match/,
  ],
  ['ANAA', 'A36, A41: a length is at most that of the address', /prefix_len is/],
  [
    'NAAA',
    `A36, A41: no such port exists; ${MISTAKE}`,
    /(source_ports\[0\]|destination_port) is|source_ports has an empty entry$/,
  ],
  [
    'NAAN',
    'A36: a value twice would make the match its own duplicate',
    /filter_chain_match\.\w+ has its first entry twice$/,
  ],
  [
    'ANAA',
    'A41: without rules, the filter is off there; grpc-go ends with a panic that it recovers from',
    /config\.rbac( is empty|\.rbac is unset)$/,
  ],
  [
    'AAAN',
    'A41: authenticated without a name is any authenticated peer',
    /authenticated(\.principal_name)? is/,
  ],
  [
    'NNAA',
    'A41: a CIDR range has an address; below a negation it would match all',
    /_ip( is empty|\.address_prefix is)/,
  ],
  [
    'NAAA',
    EMPTY,
    /any is false$|(policies\.p|_rules|_ids)( is empty|\.\w+ is (empty|unset))$|(permissions|principals) is/,
  ],
  [
    'NAAA',
    `A59 has NONE, ON_DENY, ON_ALLOW and ON_DENY_AND_ALLOW; ${MISTAKE}`,
    /audit_condition is/,
  ],
  ['NNAA', 'A59: a logger of an unknown type is refused unless it is optional', /logger_configs/],
  [
    'NANA',
    'A39: is_optional is about types that are not known; a filter without one is none',
    /http_filters\[0\]\.typed_config is (unset|of no type)$/,
  ],
];

const shared = [
  ...clusters,
  ...tls,
  ...endpoints,
  ...listeners,
  ...filters,
  ['NNNA', 'A44: intervals are more than 0', /retry_back_off\.\w+ is negative$/],
  ['NANA', DURATION, / is negative$/],
  ...routes,
];

const toEntries = (list) =>
  list.map(([letters, because, pattern]) => {
    const said = LANGUAGES.map((language, i) => `${language} ${LETTERS[letters[i]]}`).join(', ');
    return { known: [said, because], pattern };
  });

const ofServers = toEntries(servers);
const ofAll = toEntries(shared);

/** What all say of a resource in which one field is changed, and why, as in the other lists; `undefined` if they agree. */
export const knownMutation = (title) =>
  [...ofServers, ...ofAll].find(({ pattern }) => pattern.test(title))?.known;

/** The patterns that match none of the titles. @param isForServers Whether these are the titles of Listeners of servers. */
export const unusedPatterns = (titles, isForServers) =>
  (isForServers ? ofServers : ofAll)
    .filter(({ known }) => titles.every((title) => knownMutation(title) !== known))
    .map(({ pattern }) => String(pattern));
