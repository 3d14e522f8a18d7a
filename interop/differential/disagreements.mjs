// Where the clients disagree, and which sentence decides. Each entry has what they say, and why ours says what it does: the
// gRFC (A27 and so on) with what it says, or the rule of docs/decisions/resource-validation.md.

export const disagreements = {
  'listener: an address only': [
    'node nack, go nack, python nack, java ack',
    'A36: without a filter chain every connection would be closed',
  ],
  'listener: RDS with an empty name': [
    'node nack, go nack, python ack, java ack',
    'A27: route_config_name names the resource to ask for, so there must be one',
  ],
  'listener: an optional filter without a configuration': [
    'node nack, go ack, python nack, java ack',
    'A39: is_optional is about filters that are not known; one without a type is none',
  ],
  'listener: filter configuration by discovery, optional': [
    'node ack, go ack, python nack, java ack',
    'A39: is_optional: what cannot be used is left out',
  ],
  'listener: a delay without a duration': [
    'node nack, go ack, python ack, java ack',
    "A33 names fixed_delay and header_delay; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'listener: a delay that is negative': [
    'node nack, go ack, python nack, java ack',
    "A duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'listener: an abort by HTTP status 99': [
    'node nack, go ack, python ack, java ack',
    "A33; Envoy: 200 to 599; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'listener: an abort by gRPC status 17': [
    'node nack, go ack, python nack, java ack',
    'A33: a status of gRPC is 0 to 16',
  ],
  'listener: an abort without a status': [
    'node nack, go ack, python ack, java nack',
    "A33 names http_status, grpc_status and header_abort; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'listener: an abort with an unknown denominator': [
    'node nack, go ack, python ack, java none',
    "A33: HUNDRED, TEN_THOUSAND or MILLION; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'listener: a session without state': [
    'node ack, go nack, python ack, java nack',
    'A60: the filter stateful_session, which grpc-go does not have',
  ],
  'listener: a session by cookie': [
    'node ack, go nack, python ack, java nack',
    'A60: the filter stateful_session, which grpc-go does not have',
  ],
  'listener: a session by cookie without a path': [
    'node ack, go nack, python ack, java nack',
    'A60: the filter stateful_session, which grpc-go does not have',
  ],
  'listener: the longest stream: negative': [
    'node nack, go ack, python nack, java ack',
    "A31; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'route: a share without a value': [
    'node nack, go ack, python ack, java ack',
    'the schema of Envoy requires a default value (decisions/resource-validation.md)',
  ],
  'route: no domain': [
    'node nack, go ack, python nack, java ack',
    "A27: in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: an empty domain': [
    'node nack, go ack, python nack, java ack',
    "A27 has exact, suffix, prefix and universal patterns; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: a star inside': [
    'node nack, go ack, python nack, java ack',
    'A27 has exact, suffix, prefix and universal patterns; C-core refuses others',
  ],
  'route: a star at both ends': [
    'node nack, go ack, python ack, java ack',
    'A27 has exact, suffix, prefix and universal patterns, and this is none of them',
  ],
  'route: two stars': [
    'node nack, go ack, python ack, java ack',
    'A27 has exact, suffix, prefix and universal patterns, and this is none of them',
  ],
  'route: an empty regular expression': [
    'node nack, go ack, python ack, java ack',
    "A28; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: a share with an unknown denominator': [
    'node nack, go ack, python nack, java nack',
    'A28: HUNDRED, TEN_THOUSAND or MILLION',
  ],
  'route: header: empty prefix': [
    'node nack, go nack, python ack, java ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: header: empty suffix': [
    'node nack, go nack, python ack, java ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: header: empty contains': [
    'node nack, go nack, python ack, java ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: header: empty regular expression': [
    'node nack, go ack, python ack, java ack',
    "A28; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: header: range backwards': [
    'node nack, go ack, python nack, java ack',
    'A28: a range is half open from start to end; this one can never match',
  ],
  'route: header: without a name': [
    'node nack, go ack, python ack, java ack',
    "A28; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: string: empty prefix': [
    'node nack, go nack, python ack, java ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: string: empty suffix': [
    'node nack, go nack, python ack, java ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: string: empty contains': [
    'node nack, go nack, python ack, java ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: string: regular expression, case does not matter': [
    'node ack, go ack, python nack, java ack',
    'A28 ignores case where text is compared; a regular expression says itself whether case matters',
  ],
  'route: an empty cluster': [
    'node nack, go ack, python nack, java ack',
    'A28: a route names the cluster to ask for',
  ],
  'route: a weighted cluster without a name': [
    'node nack, go ack, python nack, java ack',
    'A28: a route names the cluster to ask for',
  ],
  'route: a weighted cluster without a name, of weight 0': [
    'node nack, go ack, python nack, java ack',
    "A28: a route names the cluster to ask for; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'route: a weighted cluster by header': [
    'node nack, go ack, python nack, java ack',
    'A28: only clusters by name are known, and this has none',
  ],
  'route: the longest stream: negative': [
    'node nack, go ack, python nack, java ack',
    "A31; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'route: the longest stream by header: negative': [
    'node nack, go ack, python nack, java ack',
    "A31; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'route: retries: back-off of 0': [
    'node nack, go nack, python ack, java nack',
    'A44: base_interval must be more than 0',
  ],
  'route: retries: longest below the base': [
    'node nack, go ack, python ack, java nack',
    'A44: max_interval must not be less than base_interval',
  ],
  'route: retries: longest of 0': [
    'node nack, go nack, python ack, java nack',
    'A44: max_interval must be more than 0',
  ],
  'route: hash: header without a name': [
    'node nack, go ack, python nack, java ack',
    'A42: the header to hash must be named',
  ],
  'route: hash: rewritten without a pattern': [
    'node nack, go ack, python nack, java ack',
    'A42: what is rewritten is what the pattern matches',
  ],
  'route: hash: rewritten with an odd backslash': [
    'node nack, go ack, python ack, java ack',
    'A42: the substitution is that of RE2, in which a backslash is followed by a digit or a backslash',
  ],
  'route: an override that disables': [
    'node ack, go nack, python nack, java nack',
    'the field disabled of FilterConfig (A92, A103, drafts) needs no configuration beside it (decisions/resource-validation.md)',
  ],
  'cluster: lb_policy LEAST_REQUEST': [
    'node ack, go ack, python nack, java ack',
    'A48: least_request; C-core refuses it by default',
  ],
  'cluster: an aggregate': [
    'node ack, go nack, python nack, java nack',
    'A37: the policy of an aggregate is not used; Envoy demands CLUSTER_PROVIDED of one, so servers of both send it',
  ],
  'cluster: ring: smallest above largest': [
    'node nack, go ack, python nack, java nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: smallest of 0': [
    'node nack, go ack, python nack, java nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: largest of 0': [
    'node nack, go ack, python nack, java nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: largest above 8 388 608': [
    'node nack, go ack, python nack, java ack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: smallest above 8 388 608': [
    'node nack, go ack, python nack, java ack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: least request: 2 choices': [
    'node ack, go ack, python nack, java ack',
    'A48: least_request; C-core refuses it by default',
  ],
  'cluster: outliers: threshold of 101': [
    'node nack, go nack, python ack, java nack',
    'A50: failure_percentage_threshold must not be above 100',
  ],
  'cluster: outliers: threshold of 101, not enforced': [
    'node nack, go nack, python ack, java nack',
    'A50: failure_percentage_threshold must not be above 100',
  ],
  'cluster: policy: beside lb_policy MAGLEV': [
    'node ack, go nack, python ack, java ack',
    'A52: load_balancing_policy replaces lb_policy, which is not looked at',
  ],
  'cluster: policy: ring_hash without a hash': [
    'node ack, go nack, python ack, java nack',
    'A42, A52: the default of the extension, DEFAULT_HASH, is XX_HASH',
  ],
  'cluster: policy: least_request': [
    'node ack, go ack, python nack, java ack',
    'A48, A52: least_request; C-core refuses it by default',
  ],
  'cluster: policy: weighted round robin, negative blackout': [
    'node nack, go ack, python nack, java ack',
    "A58; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'cluster: TLS with the roots of the system': [
    'node ack, go nack, python ack, java nack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS with the roots of the system and a default context': [
    'node ack, go nack, python ack, java nack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS with a depth of verification': [
    'node nack, go nack, python ack, java nack',
    'max_verify_depth bounds the chains that are accepted; to ignore it would be to accept more than the control plane does (grpc-go refuses the roots here)',
  ],
  'cluster: TLS with names': [
    'node ack, go nack, python ack, java nack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS with a server name': [
    'node ack, go nack, python ack, java nack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS by another name': [
    'node nack, go nack, python ack, java nack',
    'A29: the transport socket is envoy.transport_sockets.tls',
  ],
  'cluster: transports by match': [
    'node nack, go nack, python ack, java nack',
    'A29 knows transport_socket alone; what would be encrypted must not go in the clear because it is not looked at (Java and Go refuse it)',
  ],
  'endpoint: a locality without weight and name': [
    'node ack, go nack, python ack, java ack',
    'A27: a locality without a weight is left out, so its name does not matter',
  ],
  'endpoint: an endpoint without an address': [
    'node nack, go ack, python nack, java nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: an endpoint that is empty': [
    'node nack, go ack, python nack, java nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: an endpoint by name': [
    'node nack, go ack, python nack, java nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: a pipe': [
    'node ack, go ack, python nack, java nack',
    'An address of a kind that cannot be used is skipped, and the other endpoints stay in use (decisions/resource-validation.md)',
  ],
  'endpoint: an internal address': [
    'node ack, go ack, python nack, java nack',
    'An address of a kind that cannot be used is skipped, and the other endpoints stay in use (decisions/resource-validation.md)',
  ],
  'endpoint: an empty address': [
    'node nack, go ack, python nack, java nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: an address of IPv6 in brackets': [
    'node nack, go ack, python ack, java nack',
    'A27: the address must be a literal IPv4 or IPv6 address',
  ],
  'endpoint: an address that is a name': [
    'node nack, go ack, python nack, java nack',
    'A27: the address must be a literal IPv4 or IPv6 address',
  ],
  'endpoint: an address without text': [
    'node nack, go ack, python nack, java nack',
    'A27: the address must be a literal IPv4 or IPv6 address',
  ],
  'endpoint: port 65536': [
    'node nack, go ack, python nack, java none',
    'no such port exists; C-core refuses it as well',
  ],
  'endpoint: no port': ['node nack, go ack, python ack, java ack', 'A27: port_value must be set'],
  'endpoint: a named port': [
    'node nack, go ack, python ack, java ack',
    'A27: port_value must be set',
  ],
  'endpoint: endpoint weights above 2^32 - 1': [
    'node nack, go nack, python ack, java ack',
    'A27 bounds the sums of weights of localities; the same holds for endpoints in Envoy and newer Go',
  ],
  'endpoint: one more address that is a pipe': [
    'node ack, go ack, python nack, java ack',
    'An address of a kind that cannot be used is skipped, and the other endpoints stay in use (decisions/resource-validation.md)',
  ],
  'endpoint: typed metadata that is a wrong address': [
    'node nack, go ack, python ack, java nack',
    'A86: the address of a proxy must be usable; Go and C-core do not read it unless HTTP CONNECT is switched on',
  ],
  'endpoint: a drop without a percentage': [
    'node nack, go ack, python nack, java ack',
    'A27, A32: the share of a category must be there; C-core refuses it as well',
  ],
  'endpoint: a drop without a category': [
    'node nack, go ack, python nack, java ack',
    'A27, A32: load reports name drops by category; C-core refuses it as well',
  ],
  'listener: neither API listener nor address': [
    'node nack, go nack, python nack, java ack',
    'A27, A36: a Listener is for clients or for servers',
  ],
  'listener: a filter without a name': [
    'node nack, go nack, python nack, java ack',
    'A39: filters are named, or no override could be for them',
  ],
  'listener: an unknown optional filter last': [
    'node ack, go ack, python ack, java nack',
    'A39: an optional filter of an unknown type is ignored, wherever it is',
  ],
  'listener: an abort by HTTP status 0': [
    'node nack, go ack, python ack, java ack',
    "A33; Envoy: 200 to 599; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'listener: the longest stream: too many seconds': [
    'node ack, go ack, python ack, java none',
    'A31: the longest duration that google.protobuf.Duration has; it ends grpc-java with an exception',
  ],
  'route: string: regular expression that is none': [
    'node nack, go nack, python nack, java none',
    'A28: a regular expression of RE2; it ends grpc-java with an exception',
  ],
  'route: no action': [
    'node ack, go ack, python ack, java nack',
    'A36: a route without a usable action is valid; calls that it matches fail',
  ],
  'route: a redirect': [
    'node ack, go ack, python ack, java nack',
    'A36: a route without a usable action is valid; calls that it matches fail',
  ],
  'route: a direct response': [
    'node ack, go ack, python ack, java nack',
    'A36: a route without a usable action is valid; calls that it matches fail',
  ],
  'route: retries: 0': [
    'node nack, go nack, python nack, java ack',
    'A44: num_retries must be at least 1',
  ],
  'route: retries of a virtual host: 0': [
    'node nack, go nack, python nack, java ack',
    'A44: num_retries must be at least 1',
  ],
  'route: hash: rewritten by an empty pattern': [
    'node nack, go ack, python nack, java ack',
    'A42: what is rewritten is what the pattern matches',
  ],
  'route: hash: rewritten by what is no regular expression': [
    'node nack, go nack, python nack, java none',
    'A42: a regular expression of RE2; it ends grpc-java with an exception',
  ],
  'route: an override of a filter without a name': [
    'node ack, go ack, python nack, java ack',
    'A39: an override for a filter that does not exist is no error, whatever its name',
  ],
  'route: optional plugins of one name': [
    'node ack, go ack, python nack, java ack',
    'an optional plugin of an unknown type is not looked at (decisions/resource-validation.md)',
  ],
  'route: an optional plugin without an extension': [
    'node ack, go ack, python nack, java ack',
    'an optional plugin of an unknown type is not looked at (decisions/resource-validation.md)',
  ],
  'route: an optional plugin with an empty extension': [
    'node ack, go ack, python nack, java ack',
    'an optional plugin of an unknown type is not looked at (decisions/resource-validation.md)',
  ],
  'route: an optional plugin without a configuration': [
    'node ack, go ack, python nack, java ack',
    'an optional plugin of an unknown type is not looked at (decisions/resource-validation.md)',
  ],
  'cluster: an aggregate of another name': [
    'node ack, go nack, python ack, java nack',
    'A37: what is in typed_config decides, and no name',
  ],
  'cluster: DNS: port 0': [
    'node ack, go nack, python ack, java ack',
    'A37: port_value must be set; 0 is a value, as in EDS (A27)',
  ],
  'cluster: DNS: port 70000': [
    'node nack, go ack, python ack, java ack',
    "A37; in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)",
  ],
  'cluster: DNS: an empty name': [
    'node nack, go nack, python nack, java ack',
    'A37: the address must not be empty',
  ],
  'cluster: HTTP options of another type': [
    'node nack, go ack, python nack, java ack',
    'A75: HttpProtocolOptions; grpc-go and grpc-java do not read the field',
  ],
  'cluster: HTTP options that are empty': [
    'node nack, go ack, python nack, java ack',
    'A75: HttpProtocolOptions; grpc-go and grpc-java do not read the field',
  ],
  'cluster: policy: weighted_target': [
    'node nack, go ack, python ack, java ack',
    'the policy works with what the client itself puts together; calls of the others fail (decisions/resource-validation.md)',
  ],
  'cluster: policy: priority': [
    'node nack, go ack, python ack, java nack',
    'the policy works with what the client itself puts together; calls of the others fail (decisions/resource-validation.md)',
  ],
  'cluster: policy: priority, then round_robin': [
    'node ack, go ack, python ack, java nack',
    'A52: the first policy that is supported; priority is not, as its calls would fail (decisions/resource-validation.md)',
  ],
  'cluster: policy: weighted_target without targets': [
    'node nack, go ack, python nack, java nack',
    'the policy works with what the client itself puts together; calls of the others fail (decisions/resource-validation.md)',
  ],
  'cluster: policy: ring_hash, largest too large': [
    'node nack, go nack, python nack, java ack',
    'A42: at most 8,388,608',
  ],
  'cluster: policy: weighted round robin, negative penalty': [
    'node nack, go nack, python nack, java ack',
    'A58: error_utilization_penalty must not be negative',
  ],
  'cluster: policy: weighted round robin, negative update period': [
    'node nack, go ack, python nack, java ack',
    "A58; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'cluster: TLS with the older field of roots alone': [
    'node ack, go ack, python nack, java nack',
    'older fields are read one by one; C-core reads this one in combined contexts only, grpc-java none',
  ],
  'cluster: TLS with the older field of combined roots alone': [
    'node ack, go ack, python ack, java nack',
    'older fields are read one by one, as in C-core and grpc-go; grpc-java does not read them',
  ],
  'cluster: TLS with a name of type OTHER_NAME': [
    'node nack, go ack, python ack, java ack',
    'typed matchers are read, as in Envoy; to ignore them would be to accept every certificate (decisions/resource-validation.md)',
  ],
  'cluster: TLS with a name of no type': [
    'node nack, go ack, python ack, java ack',
    'typed matchers are read, as in Envoy; to ignore them would be to accept every certificate (decisions/resource-validation.md)',
  ],
  'cluster: TLS with a name without a matcher': [
    'node nack, go ack, python ack, java ack',
    'typed matchers are read, as in Envoy; to ignore them would be to accept every certificate (decisions/resource-validation.md)',
  ],
  'endpoint: a locality without a name': [
    'node nack, go nack, python nack, java ack',
    'A27: a locality with a weight has a name',
  ],
  'endpoint: locality weights above 2^32 - 1': [
    'node nack, go nack, python nack, java ack',
    'A27: the weights of a priority are at most 2^32 - 1; grpc-java reads those above 2^31 - 1 as negative',
  ],
  'endpoint: locality weights above 2^32 - 1 in two priorities': [
    'node ack, go ack, python ack, java nack',
    'A27: the weights of a priority are at most 2^32 - 1; grpc-java reads those above 2^31 - 1 as negative',
  ],
  'endpoint: an address twice in a locality': [
    'node nack, go nack, python nack, java ack',
    'A27: an address is in an assignment once',
  ],
  'endpoint: an address of IPv6 in two spellings': [
    'node ack, go ack, python nack, java ack',
    'addresses are compared as they are written (decisions/resource-validation.md)',
  ],
  'endpoint: an address of IPv6 in two cases': [
    'node ack, go ack, python nack, java ack',
    'addresses are compared as they are written (decisions/resource-validation.md)',
  ],
  'endpoint: an address in two localities': [
    'node nack, go nack, python nack, java ack',
    'A27: an address is in an assignment once',
  ],
  'endpoint: an address in two priorities': [
    'node nack, go nack, python nack, java ack',
    'A27: an address is in an assignment once',
  ],
  'endpoint: endpoint weight 0': [
    'node nack, go nack, python nack, java ack',
    'A27: a weight must be more than 0',
  ],
  'endpoint: a wrong endpoint that is not healthy': [
    'node ack, go ack, python ack, java nack',
    'what gets no calls is not looked at (decisions/resource-validation.md)',
  ],
  'endpoint: one more address that is the first': [
    'node nack, go nack, python nack, java ack',
    'A61: an address is in an assignment once; grpc-java 1.75 does not read additional_addresses',
  ],
  'endpoint: a drop with an unknown denominator': [
    'node nack, go nack, python nack, java none',
    'A27: HUNDRED, TEN_THOUSAND or MILLION; it ends grpc-java with an exception',
  ],
};
