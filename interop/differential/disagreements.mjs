// Where the clients disagree, and which sentence decides. Each entry has what they say, and why ours says what it does: the
// gRFC (A27 and so on) with what it says, or the rule of docs/decisions/0002-resource-validation.md.

export const disagreements = {
  'listener: an address only': [
    'node ack, go nack, python nack',
    'A36: a listener for servers is judged by servers; a client says only that it is none for clients',
  ],
  'listener: RDS with an empty name': [
    'node nack, go nack, python ack',
    'A27: route_config_name names the resource to ask for, so there must be one',
  ],
  'listener: an optional filter without a configuration': [
    'node nack, go ack, python nack',
    'A39: is_optional is about filters that are not known; one without a type is none',
  ],
  'listener: filter configuration by discovery, optional': [
    'node ack, go ack, python nack',
    'A39: is_optional: what cannot be used is left out',
  ],
  'listener: a delay without a duration': [
    'node nack, go ack, python ack',
    "A33 names fixed_delay and header_delay; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'listener: a delay that is negative': [
    'node nack, go ack, python nack',
    "A duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'listener: an abort by HTTP status 99': [
    'node nack, go ack, python ack',
    "A33; Envoy: 200 to 599; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'listener: an abort by gRPC status 17': [
    'node nack, go ack, python nack',
    'A33: a status of gRPC is 0 to 16',
  ],
  'listener: an abort without a status': [
    'node nack, go ack, python ack',
    "A33 names http_status, grpc_status and header_abort; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'listener: an abort with an unknown denominator': [
    'node nack, go ack, python ack',
    "A33: HUNDRED, TEN_THOUSAND or MILLION; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'listener: a session without state': [
    'node ack, go nack, python ack',
    'A60: the filter stateful_session, which grpc-go does not have',
  ],
  'listener: a session by cookie': [
    'node ack, go nack, python ack',
    'A60: the filter stateful_session, which grpc-go does not have',
  ],
  'listener: a session by cookie without a path': [
    'node ack, go nack, python ack',
    'A60: the filter stateful_session, which grpc-go does not have',
  ],
  'listener: the longest stream: negative': [
    'node nack, go ack, python nack',
    "A31; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'route: no domain': [
    'node nack, go ack, python nack',
    "A27: in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: an empty domain': [
    'node nack, go ack, python nack',
    "A27 has exact, suffix, prefix and universal patterns; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: a star inside': [
    'node nack, go ack, python nack',
    'A27 has exact, suffix, prefix and universal patterns; C-core refuses others',
  ],
  'route: a star at both ends': [
    'node nack, go ack, python ack',
    'A27 has exact, suffix, prefix and universal patterns, and this is none of them',
  ],
  'route: two stars': [
    'node nack, go ack, python ack',
    'A27 has exact, suffix, prefix and universal patterns, and this is none of them',
  ],
  'route: an empty regular expression': [
    'node nack, go ack, python ack',
    "A28; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: a share with an unknown denominator': [
    'node nack, go ack, python nack',
    'A28: HUNDRED, TEN_THOUSAND or MILLION',
  ],
  'route: header: empty prefix': [
    'node nack, go nack, python ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: header: empty suffix': [
    'node nack, go nack, python ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: header: empty contains': [
    'node nack, go nack, python ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: header: empty regular expression': [
    'node nack, go ack, python ack',
    "A28; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: header: range backwards': [
    'node nack, go ack, python nack',
    'A28: a range is half open from start to end; this one can never match',
  ],
  'route: header: without a name': [
    'node nack, go ack, python ack',
    "A28; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: string: empty prefix': [
    'node nack, go nack, python ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: string: empty suffix': [
    'node nack, go nack, python ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: string: empty contains': [
    'node nack, go nack, python ack',
    "A28, A63; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: string: regular expression, case does not matter': [
    'node ack, go ack, python nack',
    'A28 ignores case where text is compared; a regular expression says itself whether case matters',
  ],
  'route: an empty cluster': [
    'node nack, go ack, python nack',
    'A28: a route names the cluster to ask for',
  ],
  'route: a weighted cluster without a name': [
    'node nack, go ack, python nack',
    'A28: a route names the cluster to ask for',
  ],
  'route: a weighted cluster without a name, of weight 0': [
    'node nack, go ack, python nack',
    "A28: a route names the cluster to ask for; in Envoy's schema it is refused, so only a mistake can look so (decision 0002)",
  ],
  'route: a weighted cluster by header': [
    'node nack, go ack, python nack',
    'A28: only clusters by name are known, and this has none',
  ],
  'route: the longest stream: negative': [
    'node nack, go ack, python nack',
    "A31; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'route: the longest stream by header: negative': [
    'node nack, go ack, python nack',
    "A31; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'route: retries: back-off of 0': [
    'node nack, go nack, python ack',
    'A44: base_interval must be more than 0',
  ],
  'route: retries: longest below the base': [
    'node nack, go ack, python ack',
    'A44: max_interval must not be less than base_interval',
  ],
  'route: retries: longest of 0': [
    'node nack, go nack, python ack',
    'A44: max_interval must be more than 0',
  ],
  'route: hash: header without a name': [
    'node nack, go ack, python nack',
    'A42: the header to hash must be named',
  ],
  'route: hash: rewritten without a pattern': [
    'node nack, go ack, python nack',
    'A42: what is rewritten is what the pattern matches',
  ],
  'route: hash: rewritten with an odd backslash': [
    'node nack, go ack, python ack',
    'A42: the substitution is that of RE2, in which a backslash is followed by a digit or a backslash',
  ],
  'route: an override that disables': [
    'node ack, go nack, python nack',
    'the field disabled of FilterConfig (A92, A103, drafts) needs no configuration beside it (decision 0002)',
  ],
  'cluster: lb_policy LEAST_REQUEST': [
    'node ack, go ack, python nack',
    'A48: least_request; C-core refuses it by default',
  ],
  'cluster: an aggregate': [
    'node ack, go nack, python nack',
    'A37: the policy of an aggregate is not used; Envoy demands CLUSTER_PROVIDED of one, so servers of both send it',
  ],
  'cluster: ring: smallest above largest': [
    'node nack, go ack, python nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: smallest of 0': [
    'node nack, go ack, python nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: largest of 0': [
    'node nack, go ack, python nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: largest above 8 388 608': [
    'node nack, go ack, python nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: ring: smallest above 8 388 608': [
    'node nack, go ack, python nack',
    'A42: the sizes of a ring are 1 to 8,388,608, and the smallest is not above the largest; grpc-go clips them',
  ],
  'cluster: least request: 2 choices': [
    'node ack, go ack, python nack',
    'A48: least_request; C-core refuses it by default',
  ],
  'cluster: outliers: threshold of 101': [
    'node nack, go nack, python ack',
    'A50: failure_percentage_threshold must not be above 100',
  ],
  'cluster: outliers: threshold of 101, not enforced': [
    'node nack, go nack, python ack',
    'A50: failure_percentage_threshold must not be above 100',
  ],
  'cluster: policy: beside lb_policy MAGLEV': [
    'node ack, go nack, python ack',
    'A52: load_balancing_policy replaces lb_policy, which is not looked at',
  ],
  'cluster: policy: ring_hash without a hash': [
    'node ack, go nack, python ack',
    'A42, A52: the default of the extension, DEFAULT_HASH, is XX_HASH',
  ],
  'cluster: policy: least_request': [
    'node ack, go ack, python nack',
    'A48, A52: least_request; C-core refuses it by default',
  ],
  'cluster: policy: weighted round robin, negative blackout': [
    'node nack, go ack, python nack',
    "A58; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'cluster: TLS with the roots of the system': [
    'node ack, go nack, python ack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS with the roots of the system and a default context': [
    'node ack, go nack, python ack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS with a depth of verification': [
    'node nack, go nack, python ack',
    'max_verify_depth bounds the chains that are accepted; to ignore it would be to accept more than the control plane does (grpc-go refuses the roots here)',
  ],
  'cluster: TLS with names': [
    'node ack, go nack, python ack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS with a server name': [
    'node ack, go nack, python ack',
    'A82: system_root_certs takes the place of a provider instance; grpc-go reads it only with GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS',
  ],
  'cluster: TLS by another name': [
    'node nack, go nack, python ack',
    'A29: the transport socket is envoy.transport_sockets.tls',
  ],
  'cluster: transports by match': [
    'node nack, go nack, python ack',
    'A29 knows transport_socket alone; what would be encrypted must not go in the clear because it is not looked at (Java and Go refuse it)',
  ],
  'endpoint: a locality without weight and name': [
    'node ack, go nack, python ack',
    'A27: a locality without a weight is left out, so its name does not matter',
  ],
  'endpoint: an endpoint without an address': [
    'node nack, go ack, python nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: an endpoint that is empty': [
    'node nack, go ack, python nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: an endpoint by name': [
    'node nack, go ack, python nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: a pipe': [
    'node ack, go ack, python nack',
    'An address of a kind that cannot be used is skipped, and the other endpoints stay in use (decision 0014)',
  ],
  'endpoint: an internal address': [
    'node ack, go ack, python nack',
    'An address of a kind that cannot be used is skipped, and the other endpoints stay in use (decision 0014)',
  ],
  'endpoint: an empty address': [
    'node nack, go ack, python nack',
    'A27: endpoint.address.socket_address must be there',
  ],
  'endpoint: an address of IPv6 in brackets': [
    'node nack, go ack, python ack',
    'A27: the address must be a literal IPv4 or IPv6 address',
  ],
  'endpoint: an address that is a name': [
    'node nack, go ack, python nack',
    'A27: the address must be a literal IPv4 or IPv6 address',
  ],
  'endpoint: an address without text': [
    'node nack, go ack, python nack',
    'A27: the address must be a literal IPv4 or IPv6 address',
  ],
  'endpoint: port 65536': [
    'node nack, go ack, python nack',
    'no such port exists; C-core refuses it as well',
  ],
  'endpoint: no port': ['node nack, go ack, python ack', 'A27: port_value must be set'],
  'endpoint: a named port': ['node nack, go ack, python ack', 'A27: port_value must be set'],
  'endpoint: endpoint weights above 2^32 - 1': [
    'node nack, go nack, python ack',
    'A27 bounds the sums of weights of localities; the same holds for endpoints in Envoy and newer Go',
  ],
  'endpoint: one more address that is a pipe': [
    'node ack, go ack, python nack',
    'An address of a kind that cannot be used is skipped, and the other endpoints stay in use (decision 0014)',
  ],
  'endpoint: typed metadata that is a wrong address': [
    'node nack, go ack, python ack',
    'A86: the address of a proxy must be usable; Go and C-core do not read it unless HTTP CONNECT is switched on',
  ],
  'endpoint: a drop without a percentage': [
    'node nack, go ack, python nack',
    'A27, A32: the share of a category must be there; C-core refuses it as well',
  ],
  'endpoint: a drop without a category': [
    'node nack, go ack, python nack',
    'A27, A32: load reports name drops by category; C-core refuses it as well',
  ],
};
