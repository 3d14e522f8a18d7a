import type { ReadLimit } from './read-budget';

// Limits on input, grouped by its source. `npm run update -- limits` writes the tables of docs/limits.md from these comments: the
// first sentence says what is counted, `@beyond` says what happens beyond the limit, and a line with # begins a group.
// test/util/limits.test.ts names a hostile test for each. Applications set others: src/bootstrap/limits.ts.

// # Responses of management servers

/**
 * Resources in one response, or in a snapshot file.
 * @beyond NACK of the whole response; the file is neither written nor read.
 */
export const MAX_RESOURCES = 250_000;

/**
 * Fields of one response besides its resources: names of removed resources, errors, unknown fields. Nested fields count, too.
 * @beyond NACK of the whole response; the stream ends if the nonce comes after them.
 */
export const ENVELOPE_LIMIT: ReadLimit = {
  maxFields: 100_000,
  scope: 'response besides its resources',
};

/**
 * Fields of the wrapper around one resource, such as its aliases.
 * @beyond NACK.
 */
export const WRAPPER_LIMIT: ReadLimit = { maxFields: 10_000, scope: 'resource wrapper' };

/**
 * Fields of all resources in one response, except unchanged resources.
 * @beyond NACK of the remaining resources.
 */
export const RESPONSE_LIMIT: ReadLimit = { maxFields: 8_000_000, scope: 'response' };

/**
 * Characters of a version or a nonce. Each request repeats them.
 * @beyond NACK; for a nonce, the stream ends.
 */
export const MAX_VERSION_LENGTH = 8192;

/**
 * Characters of a resource name.
 * @beyond NACK; a name that long is never requested.
 */
export const MAX_NAME_LENGTH = 8192;

/**
 * Levels of messages within messages.
 * @beyond NACK.
 */
export const MAX_MESSAGE_DEPTH = 100;

/**
 * Bytes of one string. Each 64 bytes count as one more field.
 * @beyond NACK before the string is decoded.
 */
export const MAX_TEXT_BYTES = 2 ** 20;

/**
 * Headers of a REST response, or of a proxy's response to CONNECT, in bytes; trailers count separately.
 * @beyond The request or the connection attempt fails.
 */
export const MAX_ANSWER_HEADER_BYTES = 16_384;

/**
 * Interim responses (1xx) before a REST response. Node.js reads any number of them.
 * @beyond The request fails.
 */
export const MAX_INTERIM_RESPONSES = 100;

/**
 * Chunks of a REST response. Each takes some microseconds, whatever its size.
 * @beyond The request fails.
 */
export const MAX_CHUNKS = 250_000;

/**
 * Unknown types in one REST response. One costs as much as a hundred small messages.
 * @beyond The response is rejected.
 */
export const MAX_UNKNOWN_TYPES = 1000;

// # Resources

/**
 * Fields decoded in one turn of the event loop, such as those of a cluster, a route or an endpoint. A regular
 * expression counts as 100 or more.
 * @beyond NACK.
 */
export const MESSAGE_LIMIT: ReadLimit = { maxFields: 50_000, scope: 'message' };

/**
 * Elements of a list that is decoded one by one, such as the routes of a virtual host. One turn finds where each begins.
 * @beyond NACK.
 */
export const LIST_LIMIT: ReadLimit = { maxFields: 400_000, scope: 'list' };

/**
 * Fields of a route configuration, or of a listener that contains one: about 300,000 routes.
 * @beyond NACK.
 */
export const ROUTES_LIMIT: ReadLimit = { maxFields: 2_000_000, scope: 'resource' };

/**
 * Fields of an endpoint assignment or collection: 200,000 endpoints of ten fields.
 * @beyond NACK.
 */
export const ENDPOINTS_LIMIT: ReadLimit = { maxFields: 4_000_000, scope: 'resource' };

/**
 * Fields of all clusters in use in the process.
 * @beyond NACK; the last version stays in use.
 */
export const MAX_CLUSTER_FIELDS = 2_000_000;

/**
 * HTTP filters of a listener, their overrides in one place, filter chains, and values of one match criterion. A connection is
 * compared with each chain.
 * @beyond NACK.
 */
export const MAX_LISTENER_ELEMENTS = 1000;

/**
 * Hash policies of a route. Each call to a cluster that hashes reads all of them.
 * @beyond NACK.
 */
export const MAX_HASH_POLICIES = 256;

/**
 * Header mutations in one list. Each call makes all of them.
 * @beyond NACK; from an authorization server, the answer counts as a failure.
 */
export const MAX_HEADER_MUTATIONS = 1000;

/**
 * Bytes of an answer from a service that the control plane names, such as an authorization server.
 * @beyond The answer counts as a failure.
 */
export const MAX_SERVICE_ANSWER_BYTES = 2 ** 20;

/**
 * Characters of `retry_on`.
 * @beyond NACK.
 */
export const MAX_RETRY_ON_LENGTH = 8192;

/**
 * Localities of an assignment. Each is a policy with its own connections, which take several KiB.
 * @beyond NACK before it is decoded.
 */
export const MAX_LOCALITIES = 5000;

/**
 * Priorities of an assignment. Each is a policy once it is in use; Envoy allows 129.
 * @beyond NACK.
 */
export const MAX_PRIORITIES = 1000;

/**
 * Drop categories of an assignment. Each takes part in every call.
 * @beyond NACK before it is decoded.
 */
export const MAX_DROP_CATEGORIES = 100;

/**
 * Additional addresses of an endpoint. Each is a subchannel when the endpoint is connected to.
 * @beyond NACK.
 */
export const MAX_ADDITIONAL_ADDRESSES = 32;

/**
 * Characters of an endpoint's hash key or hostname. `ring_hash` hashes the key again for each entry of the ring.
 * @beyond NACK.
 */
export const MAX_ENDPOINT_TEXT_LENGTH = 4096;

/**
 * Leaf clusters of one aggregate cluster. While they are down, each has its own policies and connection attempt: some 40 kB.
 * @beyond Its last clusters stay in use, or its calls fail.
 */
export const MAX_LEAF_CLUSTERS = 1000;

/**
 * Steps through all aggregate clusters of a target. A step takes about 0.1 µs, and each may add to a list of leaves. Without a bound, n
 * aggregates that share n leaves would take n² steps.
 * @beyond The other aggregates keep their last clusters, or their calls fail.
 */
export const MAX_AGGREGATE_STEPS = 1_000_000;

/**
 * Characters of a session cookie's name or path. Both are in each response's header.
 * @beyond NACK.
 */
export const MAX_COOKIE_NAME_LENGTH = 1024;

/**
 * Characters of an authority that a route sets for a call. Servers close connections whose headers exceed their own limit.
 * @beyond The call fails with UNAVAILABLE.
 */
export const MAX_AUTHORITY_LENGTH = 1024;

/**
 * Entries of a Maglev table, as in Envoy. Each takes 1 byte with up to 255 endpoints, 2 with up to 65,535, and 4 with more.
 * @beyond NACK.
 */
export const MAX_MAGLEV_TABLE_SIZE = 5_000_011;

/**
 * Bytes of a mirrored call that wait for the mirror's connection.
 * @beyond The copy is cancelled; the call continues.
 */
export const MAX_MIRRORED_BYTES = 2 ** 20;

// # Files, JSON and YAML

/**
 * Bytes of the bootstrap.
 * @beyond It is not read.
 */
export const MAX_BOOTSTRAP_BYTES = 16 * 1024 * 1024;

/**
 * Bytes of a snapshot file, or of a file passed to a command or the embedded control plane.
 * @beyond The file is not read; a snapshot is not written.
 */
export const MAX_INPUT_BYTES = 256 * 1024 * 1024;

/**
 * Entries of a directory with resource files.
 * @beyond No entry is read; earlier resources stay in use.
 */
export const MAX_DIRECTORY_ENTRIES = 1000;

/**
 * Bytes of an authorization policy.
 * @beyond The last good policy stays in use.
 */
export const MAX_POLICY_BYTES = 4 * 1024 * 1024;

/**
 * Bytes of a token file, or of a response from the GCP metadata server. Node.js sends at most 64 KiB of headers.
 * @beyond Calls that need the token fail with UNAVAILABLE.
 */
export const MAX_TOKEN_BYTES = 64 * 1024;

/**
 * Levels of JSON or YAML. Most of the code that reads it is recursive.
 * @beyond Rejected before it is parsed.
 */
export const MAX_JSON_DEPTH = 200;

/**
 * Members of one object of JSON or YAML. Larger ones take many times longer than lists of the same length.
 * @beyond Rejected before it is parsed.
 */
export const MAX_JSON_MEMBERS = 10_000;

/**
 * Values of a resource file or REST response: objects, lists, elements and members. A YAML alias counts as the value it
 * stands for.
 * @beyond Rejected before it is parsed.
 */
export const MAX_JSON_VALUES = 2_000_000;

/**
 * Values of a bootstrap, authorization policy or trust bundle map.
 * @beyond Rejected before it is parsed.
 */
export const MAX_CONFIG_VALUES = 200_000;

/**
 * Characters of a YAML file. Reading a line takes up to 30 µs, ten times as long as JSON.
 * @beyond Rejected before it is parsed.
 */
export const MAX_YAML_LENGTH = 2 * 2 ** 20;

/**
 * Tokens of a YAML file, white space included: about 100,000 lines.
 * @beyond Rejected.
 */
export const MAX_YAML_TOKENS = 500_000;

// # Certificates and keys

/**
 * Bytes of a secret from the certificate provider `sds`. A bundle of all public certificate authorities has a quarter of a megabyte.
 * @beyond NACK; the last good secret stays in use.
 */
export const MAX_SECRET_BYTES = 1024 * 1024;

/**
 * Bytes of a CA file or trust bundle map; characters of the roots of a custom provider.
 * @beyond The last good ones stay in use.
 */
export const MAX_BUNDLE_BYTES = 4 * 1024 * 1024;

/**
 * Certificates of one CA file, trust bundle map or secret. They are counted before any is parsed, because parsing one and adding
 * it to a TLS context each take a tenth of a millisecond or two. A bundle of all public certificate authorities has some 150.
 * @beyond The last good ones stay in use.
 */
export const MAX_AUTHORITIES = 500;

/**
 * Bytes of the revocation lists of one certificate provider: about 100,000 revoked certificates. They are
 * parsed in one turn, which takes up to a tenth of a second.
 * @beyond The file is not read; the last good lists stay in use.
 */
export const MAX_REVOCATION_BYTES = 4 * 1024 * 1024;

/**
 * Characters of one certificate in PEM. It is parsed in one turn of the event loop; one with 1,000 names has half as many.
 * @beyond The last good one stays in use.
 */
export const MAX_CERTIFICATE_LENGTH = 65_536;

/**
 * Characters of your own certificate chain. OpenSSL parses it in one turn.
 * @beyond The last good one stays in use.
 */
export const MAX_CHAIN_CHARACTERS = 262_144;

/**
 * Certificates in a chain, your own or a client's. OpenSSL does not follow longer chains.
 * @beyond The last good one stays in use; the handshake fails.
 */
export const MAX_CHAIN_LENGTH = 100;

/**
 * Characters of a private key in PEM. An RSA key of 8,192 bits has 6,400.
 * @beyond The last good one stays in use.
 */
export const MAX_PRIVATE_KEY_LENGTH = 16_384;

/**
 * Length in bytes of a private key that is not RSA. The largest curve has a quarter of that.
 * @beyond The last good one stays in use.
 */
export const MAX_CURVE_KEY_BYTES = 1024;

/**
 * Key bits of a certificate, your own or an authority's. Checking a signature takes 0.7 ms with 8,192 bits and 3 ms with 16,384.
 * @beyond The last good ones stay in use.
 */
export const MAX_MODULUS_BITS = 8192;

/**
 * Public exponent of an RSA key. Go has the same limit; 65,537 is the usual exponent. A longer one makes checking signatures slower.
 * @beyond The last good ones stay in use.
 */
export const MAX_PUBLIC_EXPONENT = 2n ** 31n - 1n;

/**
 * Subject alternative names of a peer's certificate, of every type. Public authorities sign at most a few hundred.
 * @beyond The handshake fails.
 */
export const MAX_CERTIFICATE_NAMES = 1000;

/**
 * Steps to compare these names with matchers. Each takes 16 and its characters, `exact` none.
 * @beyond The handshake fails.
 */
export const MAX_SAN_STEPS = 10_000_000;

// # DNS and backends

/**
 * Different addresses in a DNS answer. They all belong to one endpoint; pick_first tries one after the other.
 * @beyond The first ones are used, which is logged.
 */
export const MAX_DNS_ADDRESSES = 1000;

/**
 * Bytes of a load report from a backend. C-core clients accept at most 16 KiB of trailers.
 * @beyond The report is ignored, which is logged.
 */
export const MAX_REPORT_BYTES = 16_384;

/**
 * Backend metrics between two load reports, per locality. A backend with a new name for every call must not fill the memory.
 * @beyond They are left out of the report, which is logged.
 */
export const MAX_METRICS_OF_LOCALITY = 1000;

/**
 * Backend metrics between two load reports, per cluster.
 * @beyond They are left out of the report, which is logged.
 */
export const MAX_METRICS_OF_CLUSTER = 5000;

/**
 * Characters of the name of such a metric.
 * @beyond It is left out of the report, which is logged.
 */
export const MAX_METRIC_NAME_LENGTH = 256;

/**
 * Bytes of a response from a route lookup service.
 * @beyond The lookup fails.
 */
export const MAX_LOOKUP_RESPONSE_BYTES = 16_384;

/**
 * Route lookup targets in use by one policy. Each is a policy with its own cluster.
 * @beyond The lookup that returns another one fails.
 */
export const MAX_LOOKUP_TARGETS = 1000;

/**
 * Route lookup responses in the cache of one policy, whatever `cache_size_bytes` allows. An entry takes about 1 kB besides
 * the bytes that count.
 * @beyond The least recently used ones are evicted.
 */
export const MAX_LOOKUP_ENTRIES = 100_000;

// # Clients of servers

/**
 * Connections from one address or IPv6 /64 network that are in their TLS handshake. What their clients sent may all be read in one turn.
 * @beyond They wait.
 */
export const MAX_HANDSHAKES_OF_ADDRESS = 8;

/**
 * Connections whose clients have not acknowledged the HTTP/2 settings.
 * @beyond They wait; addresses take turns.
 */
export const MAX_UNPROVEN = 50;

/**
 * Bytes of a ClientHello that a server waits for. Today's have 2,000.
 * @beyond The handshake begins without the rest.
 */
export const MAX_HELLO_BYTES = 16_384;

/**
 * Open calls of a connection whose client has not acknowledged the HTTP/2 settings.
 * @beyond The call is refused; gRPC clients retry it.
 */
export const MAX_STREAMS_AT_FIRST = 10;

/**
 * All calls that such a connection begins.
 * @beyond The connection is closed.
 */
export const MAX_STREAMS_BEGUN_AT_FIRST = 100;

/**
 * Open calls of a connection after that, unless `grpc.max_concurrent_streams` is set.
 * @beyond Clients wait; a connection whose client does not wait is closed.
 */
export const DEFAULT_MAX_STREAMS = 1000;

/**
 * Headers of a call, including HTTP/2 headers.
 * @beyond The call is reset.
 */
export const MAX_HEADER_PAIRS = 128;

/**
 * Bytes of these headers, and 32 more for each. See https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2.
 * @beyond The call is reset.
 */
export const MAX_HEADER_LIST_BYTES = 16_384;

/**
 * DATA frames of a call, if they have fewer than 3 bytes on average. A gRPC message without content has 5; Node.js reads some of them in
 * two parts.
 * @beyond The connection ends.
 */
export const MAX_TINY_DATA_FRAMES = 4096;

/**
 * Fields of a request to a CSDS or ORCA service. Callers are not authenticated.
 * @beyond The request fails.
 */
export const REQUEST_LIMIT: ReadLimit = { maxFields: 10_000, scope: 'request' };

/**
 * CSDS requests that wait for a response.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_WAITING_REQUESTS = 100;

/**
 * Open streams of an `OrcaReporter`, or of a service of the embedded control plane.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_STREAMS = 10_000;

// # Clients of an embedded control plane or relay

/**
 * Bytes of a request.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

/**
 * Fields of a request. They are read in one turn; an initial version has three.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const CLIENT_REQUEST_LIMIT: ReadLimit = { maxFields: 200_000, scope: 'request' };

/**
 * Open connections.
 * @beyond They are closed.
 */
export const MAX_CONNECTIONS = 20_000;

/**
 * Open streams of one connection. A process has two for each node and management server.
 * @beyond They wait.
 */
export const MAX_STREAMS_OF_CONNECTION = 2000;

/**
 * Types that one stream subscribes to.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_TYPES = 100;

/**
 * Names of one type that one stream subscribes to.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_NAMES = 100_000;

/**
 * Characters of all these names.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_NAME_CHARACTERS = 8 * 1024 * 1024;

/**
 * Bytes of the node of one stream. It lasts as long as the stream.
 * @beyond RESOURCE_EXHAUSTED.
 */
export const MAX_NODE_BYTES = 256 * 1024;

/**
 * Characters of a rejection.
 * @beyond They are truncated.
 */
export const MAX_REJECTION_CHARACTERS = 64 * 1024;

/**
 * Bytes of resources in responses on all streams that clients have not read.
 * @beyond Streams whose clients have read nothing for 1 s are reset, the longest-waiting first.
 */
export const MAX_UNREAD_BYTES = 256 * 1024 * 1024;

/**
 * Clients that are being authenticated.
 * @beyond UNAVAILABLE.
 */
export const MAX_PENDING_AUTHENTICATIONS = 1000;

/**
 * Connections from one address without an authenticated client; 20 more per second.
 * @beyond They are reset before anything is read.
 */
export const MAX_UNAUTHENTICATED_OF_ADDRESS = 100;

/**
 * Connections from all addresses without an authenticated client; 100 more per second.
 * @beyond They are reset before anything is read.
 */
export const MAX_UNAUTHENTICATED = 1000;

/**
 * Clusters, localities, metrics and drop categories in the totals of load reports.
 * @beyond They are left out until `clearLoads()`, which is logged.
 */
export const MAX_LOAD_ENTRIES = 500_000;

/**
 * Localities, metrics and drop categories of one cluster in these totals.
 * @beyond They are left out, which is logged.
 */
export const MAX_LOAD_ENTRIES_OF_CLUSTER = 10_000;
