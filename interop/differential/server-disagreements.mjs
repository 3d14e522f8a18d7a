// Where servers disagree about Listeners, and which sentence decides. Each entry has what they say, and why this package says what
// it does: the gRFC (A36 and so on) with what it says, or the rule of docs/decisions/resource-validation.md.

const ADDRESS =
  'A36: the address is a literal one with a port, or else no server can be what is meant';
const UNUSED =
  'A36: no two filter chains have equal criteria; those that match nothing are no exception, as in grpc-java';
const CLAMP =
  'A36, A41: a length is at most that of the address, as in C-core; it cannot mean anything else than one address';
const ALONE =
  'A36: a filter chain that matches nothing is valid, and so is a Listener that has no other';
const EMPTY =
  "A41; in Envoy's schema it is refused, and implementations differ in what an empty list matches (decisions/resource-validation.md)";
const LOGGER =
  'A59: a logger of an unknown type is refused unless it is optional; what was to be recorded must not be lost';
const EMPTY_VALIDATION =
  'an empty validation context says the same as none; servers of grpc-js-xds are configured so';
const ROOTS =
  'A29: a validation context names the provider of roots; without one nothing could be verified';
const MISTAKE =
  "in Envoy's schema it is refused, so only a mistake can look so (decisions/resource-validation.md)";

export const serverDisagreements = {
  'listeners: without a name': [
    'node nack, go nack, python ack, java ack',
    'A36: the resource is cached by its name; Go refuses it as well',
  ],
  'listeners: listener filters': [
    'node nack, go nack, python ack, java nack',
    'A36: listener_filters must be empty',
  ],
  'listeners: an empty address': ['node nack, go ack, python ack, java nack', ADDRESS],
  'listeners: a host name': ['node nack, go ack, python ack, java ack', ADDRESS],
  'listeners: port 65536': [
    'node nack, go ack, python nack, java ack',
    'no such port exists; C-core refuses it as well',
  ],
  'listeners: a named port': ['node nack, go ack, python ack, java nack', ADDRESS],
  'listeners: UDP': [
    'node ack, go ack, python nack, java ack',
    'A36: an address that is not that of the server makes it not serve, and so does another protocol',
  ],
  'listeners: outbound': [
    'node nack, go ack, python ack, java nack',
    'decisions/resource-validation.md: A36 does not mention traffic_direction; what is for outbound traffic is not for the peers of a server, and grpc-java refuses it as well',
  ],
  'networks: two managers': [
    'node nack, go ack, python nack, java nack',
    'A36: the HttpConnectionManager is the only filter; C-core and grpc-java refuse it as well',
  ],
  'networks: a manager without a name': [
    'node nack, go nack, python ack, java ack',
    "decisions/resource-validation.md: in Envoy's schema the name of a network filter is not empty; Go refuses it as well",
  ],
  'matching: a server name twice in a match': ['node nack, go ack, python ack, java nack', UNUSED],
  'matching: a length beyond the address': ['node ack, go nack, python ack, java ack', CLAMP],
  'matching: a range with a scope': [
    'node nack, go ack, python ack, java ack',
    'A36: a range is of addresses; a scope is not a part of them, and Go and C-core ignore it',
  ],
  'matching: an IPv4-mapped range': [
    'node ack, go nack, python ack, java ack',
    'an IPv4-mapped address is one of IPv4, also where a range begins with it; the length counts the bits of what is written',
  ],
  'matching: a direct source range': [
    'node nack, go ack, python ack, java ack',
    'A36 does not have it; a chain for some clients must not be served to all',
  ],
  'matching: a destination port alone': ['node ack, go nack, python ack, java ack', ALONE],
  'matching: server names alone': ['node ack, go nack, python ack, java ack', ALONE],
  'matching: one destination port in two': ['node nack, go ack, python ack, java nack', UNUSED],
  'matching: one server name in two': ['node nack, go ack, python ack, java nack', UNUSED],
  'matching: one application protocol in two': ['node nack, go ack, python ack, java nack', UNUSED],
  'matching: the transport protocol tls in two': [
    'node nack, go ack, python ack, java nack',
    UNUSED,
  ],
  'matching: a source port of 0': ['node nack, go ack, python ack, java ack', `A36; ${MISTAKE}`],
  'matching: a source port of 65536': [
    'node nack, go ack, python ack, java ack',
    `A36; ${MISTAKE}`,
  ],
  'matching: one that matches nothing, with an invalid filter': [
    'node nack, go ack, python nack, java nack',
    'A36: every filter chain is validated; C-core refuses it as well',
  ],
  'managers: RDS from self': ['node ack, go nack, python ack, java ack', 'A27, A47: ads or self'],
  'managers: RDS without a name': [
    'node nack, go nack, python ack, java ack',
    'A27: route_config_name names the resource to ask for, so there must be one',
  ],
  'managers: a route to no cluster': [
    'node nack, go ack, python nack, java ack',
    'A28, A36: routes are validated as those of clients are',
  ],
  'managers: a filter by discovery, optional': [
    'node ack, go ack, python nack, java ack',
    'A39: is_optional: what cannot be used is left out',
  ],
  'managers: a negative longest stream': [
    'node nack, go ack, python nack, java ack',
    "A31; a duration must not be negative: google.protobuf.Duration of protobuf, as bounded by Envoy's schema; C-core refuses it as well",
  ],
  'authorization: a matcher tree': [
    'node nack, go ack, python ack, java ack',
    'A41 has rules alone; Envoy would enforce the matcher instead of them, and to allow all requests is not what was meant (fail closed)',
  ],
  'authorization: no permission': ['node nack, go ack, python ack, java ack', EMPTY],
  'authorization: no principal': ['node nack, go ack, python ack, java ack', EMPTY],
  'authorization: an empty and': ['node nack, go ack, python ack, java ack', EMPTY],
  'authorization: an empty or': ['node nack, go ack, python ack, java ack', EMPTY],
  'authorization: any: false': [
    'node nack, go ack, python ack, java ack',
    "A41; in Envoy's schema it is refused, and Go lets it match (decisions/resource-validation.md)",
  ],
  'authorization: a range of ports': [
    'node ack, go nack, python nack, java ack',
    'Envoy and grpc-java: [start, end); what can be enforced is not refused',
  ],
  'authorization: port 65536': ['node nack, go ack, python ack, java ack', `A41; ${MISTAKE}`],
  'authorization: an address that is none': [
    'node nack, go nack, python ack, java nack',
    'A41: a CIDR range; C-core lets it match nothing, which allows requests below a negation',
  ],
  'authorization: a length beyond the address': ['node ack, go nack, python ack, java ack', CLAMP],
  'authorization: a header of gRPC in capitals': [
    'node nack, go nack, python ack, java ack',
    'A41: headers that begin with grpc- cannot be matched, and names of headers have no case (grpc-go issue 9332)',
  ],
  'authorization: a header without a name': [
    'node nack, go ack, python ack, java ack',
    `A41; ${MISTAKE}`,
  ],
  'authorization: a header with an empty prefix': [
    'node nack, go nack, python ack, java ack',
    `A28, A63; ${MISTAKE}`,
  ],
  'authorization: a header in a range, backwards': [
    'node nack, go ack, python nack, java ack',
    'A28: a range is half open from start to end; this one can never match',
  ],
  'authorization: a header of gRPC in rules that log': [
    'node ack, go nack, python ack, java ack',
    'A41: with the action LOG it is as if the filter were not configured',
  ],
  'audits: an unknown condition': [
    'node nack, go ack, python ack, java ack',
    `A59 has NONE, ON_DENY, ON_ALLOW and ON_DENY_AND_ALLOW; ${MISTAKE}`,
  ],
  'audits: an unknown logger': ['node nack, go nack, python ack, java ack', LOGGER],
  'audits: an unknown logger, optional': [
    'node ack, go nack, python ack, java ack',
    'A59: is_optional: a logger of an unknown type is left out; Go looks at it only in a TypedStruct',
  ],
  'audits: an own logger that is not registered': [
    'node nack, go nack, python ack, java ack',
    LOGGER,
  ],
  'audits: a logger without a configuration': [
    'node nack, go nack, python ack, java ack',
    'A59: is_optional is about types that are not known; one without a type is none',
  ],
  'audits: a logger without a configuration, optional': [
    'node nack, go nack, python ack, java ack',
    'A59: is_optional is about types that are not known; one without a type is none',
  ],
  'audits: an empty logger': [
    'node nack, go nack, python ack, java ack',
    'A59: is_optional is about types that are not known; one without a type is none',
  ],
  'overriding: by nothing': [
    'node ack, go nack, python ack, java ack',
    'A41: RBACPerRoute without rbac switches the filter off there; Go ends with a panic that it recovers from',
  ],
  'overriding: switched off': [
    'node ack, go nack, python nack, java nack',
    'FilterConfig.disabled needs no config (decisions/resource-validation.md)',
  ],
  'overriding: of a filter without a name': [
    'node ack, go ack, python nack, java ack',
    'A39: an override for a filter that does not exist is no error, whatever its name',
  ],
  'tls: the deprecated fields': [
    'node ack, go ack, python nack, java nack',
    'A29: what control planes before the newer fields send; Istio sends both',
  ],
  'tls: another name': [
    'node nack, go nack, python ack, java nack',
    'A29: the transport socket is envoy.transport_sockets.tls',
  ],
  'tls: a validation context without roots': [
    'node ack, go nack, python ack, java ack',
    EMPTY_VALIDATION,
  ],
  'tls: roots in a file': ['node nack, go nack, python ack, java ack', ROOTS],
  'tls: a depth of verification': [
    'node nack, go ack, python ack, java ack',
    'max_verify_depth bounds the chains that are accepted; to ignore it would be to accept more than the control plane does',
  ],
  'tls: names': [
    'node ack, go nack, python nack, java nack',
    'A29: match_subject_alt_names is about the peer, whichever side it is on; what can be enforced is not refused',
  ],
  'listeners: original destination: false': [
    'node ack, go ack, python ack, java nack',
    'A36: it must not be true',
  ],
  'listeners: no address': [
    'node nack, go nack, python nack, java ack',
    'A36: the address of the server',
  ],
  'listeners: a pipe': [
    'node nack, go nack, python nack, java ack',
    'A36: the address of the server is that of a TCP socket',
  ],
  'listeners: an internal address': [
    'node nack, go nack, python nack, java ack',
    'A36: the address of the server is that of a TCP socket',
  ],
  'listeners: no filter chain': [
    'node nack, go nack, python nack, java ack',
    'decisions/resource-validation.md: without a filter chain every connection would be closed; Go and C-core refuse it as well',
  ],
  'listeners: a default filter chain with an invalid match': [
    'node ack, go ack, python nack, java nack',
    'A36: the default filter chain is for all other connections; its match is not used',
  ],
  'listeners: a default filter chain with an unknown source type': [
    'node ack, go ack, python nack, java nack',
    'A36: the default filter chain is for all other connections; its match is not used',
  ],
  'matching: one range with other bits after the prefix': [
    'node nack, go nack, python nack, java ack',
    'A36: no two filter chains have equal criteria; only the bits of the prefix count',
  ],
  'matching: ranges without a length, of one family': [
    'node nack, go nack, python nack, java ack',
    'A36: no two filter chains have equal criteria; only the bits of the prefix count',
  ],
  'matching: one name of two filter chains': [
    'node ack, go ack, python ack, java nack',
    'A36: names of filter chains need not be unique',
  ],
  'managers: a route without an action': [
    'node ack, go ack, python ack, java nack',
    'A36: a route without a usable action is valid; calls that it matches fail',
  ],
  'managers: a redirect': [
    'node ack, go ack, python ack, java nack',
    'A36: a route without a usable action is valid; calls that it matches fail',
  ],
  'managers: an unknown optional filter last': [
    'node ack, go ack, python ack, java nack',
    'A39: an optional filter of an unknown type is ignored, wherever it is',
  ],
  'managers: a filter without a name': [
    'node nack, go nack, python nack, java ack',
    'A39: filters are named, or no override could be for them',
  ],
  'authorization: a range of ports, backwards': [
    'node nack, go nack, python nack, java ack',
    'A41; a range that ends before it begins can never match',
  ],
  'authorization: authenticated': [
    'node ack, go ack, python ack, java nack',
    'A41: without a name, any authenticated peer',
  ],
  'authorization: a header with an empty expression': [
    'node nack, go ack, python ack, java ack',
    `A28; ${MISTAKE}`,
  ],
  'authorization: a path by an empty expression': [
    'node nack, go ack, python ack, java ack',
    `A41; ${MISTAKE}`,
  ],
  'authorization: authenticated by an empty expression': [
    'node nack, go ack, python ack, java ack',
    `A41; ${MISTAKE}`,
  ],
  'tls: required without roots': [
    'node nack, go nack, python nack, java ack',
    'A29: certificates that are required are validated',
  ],
  'tls: a validation context without roots, required': [
    'node nack, go nack, python nack, java ack',
    ROOTS,
  ],
  'tls: a combined context without roots': [
    'node ack, go nack, python ack, java ack',
    EMPTY_VALIDATION,
  ],
  'tls: names without roots': ['node nack, go nack, python nack, java ack', ROOTS],
  'tls: roots of the system': ['node nack, go nack, python nack, java ack', ROOTS],
  'tls: a required server name: false': [
    'node ack, go ack, python ack, java nack',
    'A29: rejected if true, as in grpc-go and C-core; false is the same as unset',
  ],
  'tls: signed timestamps: false': [
    'node ack, go ack, python ack, java nack',
    'A29: rejected if true, as in grpc-go and C-core; false is the same as unset',
  ],
};
