import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as limits from '../../src/util/limits';

const ASSIGNMENT = 'may have as many %s as the limit, and is rejected with more';
const SESSIONS = 'server/session-limits';
const AUTHORITIES = 'security/providers/certificate-limits';
const REST = 'transport/hostile-rest-server';
const CONTROL_PLANE = 'control-plane/hostile-clients';
const FLOOD = 'ends the stream of a client that sends %s, and serves others';

/** The hostile test of each limit: its file, and its title or the case in a table. */
const TESTS: Readonly<Record<keyof typeof limits, readonly [file: string, title: string]>> = {
  MAX_RESOURCES: ['xds-client/response-limits', 'is not read further than its limit'],
  ENVELOPE_LIMIT: ['xds-client/response-limits', 'is rejected with its nonce: %s'],
  WRAPPER_LIMIT: ['xds-client/response-limits', 'is rejected, and others are accepted'],
  RESPONSE_LIMIT: ['resources/read-limits', 'count against what the response has left'],
  MAX_VERSION_LENGTH: [
    'xds-client/version-limits',
    'rejects a response whose version is too long, and accepts the next one',
  ],
  MAX_NAME_LENGTH: ['xds-client/limits', 'makes its resource a violation, and the others count'],
  MAX_MESSAGE_DEPTH: [CONTROL_PLANE, 'a node with metadata of 200 messages in one another'],
  MAX_TEXT_BYTES: ['xds-client/response-limits', 'is rejected if it has a text that is too long'],
  MAX_ANSWER_HEADER_BYTES: [REST, 'an answer with headers of more than 16384 bytes'],
  MAX_INTERIM_RESPONSES: [REST, 'more than 100 interim responses'],
  MAX_CHUNKS: [REST, 'an answer in more than 250000 chunks'],
  MAX_UNKNOWN_TYPES: ['transport/discovery-json', 'is refused with more than 1000 unknown types'],
  MESSAGE_LIMIT: ['resources/read-limits', 'with more %s than one message may have are refused'],
  LIST_LIMIT: [
    'resources/read-limits',
    'of more %s than fields may be read are refused before any is decoded',
  ],
  ROUTES_LIMIT: ['resources/read-limits', 'is rejected for the fields of all its %s together'],
  ENDPOINTS_LIMIT: ['resources/read-limits', 'is rejected for the fields of all its %s together'],
  MAX_CLUSTER_FIELDS: [
    'xds-client/element-limits',
    'rejects a resource that exceeds a fixed limit, of which only the number is named',
  ],
  MAX_LISTENER_ELEMENTS: ['resources/socket-listener', 'is rejected with more than 1000 filter'],
  MAX_HASH_POLICIES: [
    'resources/read-limits',
    'a route has at most 256 hash policies, which each call reads',
  ],
  MAX_HEADER_MUTATIONS: [
    'resources/route-headers',
    'may be 1000 in one list, each of which every call makes',
  ],
  MAX_SERVICE_ANSWER_BYTES: [
    'http-filters/grpc-service/side-channels',
    'read no answer that is too large',
  ],
  MAX_RETRY_ON_LENGTH: ['resources/read-limits', 'a retry_on of 8,193 characters is refused'],
  MAX_LOCALITIES: ['resources/assignment-limits', ASSIGNMENT],
  MAX_PRIORITIES: ['resources/assignment-limits', ASSIGNMENT],
  MAX_DROP_CATEGORIES: ['resources/assignment-limits', ASSIGNMENT],
  MAX_ADDITIONAL_ADDRESSES: ['resources/assignment-limits', ASSIGNMENT],
  MAX_ENDPOINT_TEXT_LENGTH: ['resources/assignment-limits', ASSIGNMENT],
  MAX_LEAF_CLUSTERS: [
    'dependency-manager/build-xds-config',
    'is rejected: it leads to 1001 clusters, more than 1000',
  ],
  MAX_AGGREGATE_STEPS: [
    'dependency-manager/build-xds-config',
    'bounds the lists of leaves of all aggregates together',
  ],
  MAX_MAGLEV_TABLE_SIZE: ['lb/maglev/config', 'is rejected with a table of %d entries'],
  MAX_MIRRORED_BYTES: [
    'lb/mirroring/mirrored-call',
    'is cancelled when its connection has not taken 1 MiB, and the call goes on',
  ],
  MAX_COOKIE_NAME_LENGTH: [
    'http-filters/stateful-session/session-parser',
    'a name and a path of 1025 characters',
  ],
  MAX_AUTHORITY_LENGTH: [
    'e2e/authority-rewrite',
    'fails the call, and no other one on the connection, if it is too long',
  ],
  MAX_BOOTSTRAP_BYTES: ['bootstrap/load-bootstrap', 'more than 16777216 characters'],
  MAX_INPUT_BYTES: ['cli/file-arguments', 'refuse a file that is %s'],
  MAX_DIRECTORY_ENTRIES: ['util/file-watch', 'lists a directory of at most 1000 entries'],
  MAX_POLICY_BYTES: ['authorization/policy-file', 'is not read beyond 4 MiB'],
  MAX_TOKEN_BYTES: [
    'security/credentials/jwt-token-file',
    'is UNAVAILABLE from a FIFO, a device or a file of more than 64 KiB, without blocking',
  ],
  MAX_JSON_DEPTH: ['util/bounded-json', 'nested more than 200 levels deep'],
  MAX_JSON_MEMBERS: ['util/bounded-json', 'an object of more than 10000 members'],
  MAX_JSON_VALUES: [
    'transport/discovery-json',
    'is refused before it is parsed when it has too many %s',
  ],
  MAX_CONFIG_VALUES: ['bootstrap/load-bootstrap', 'more than 200000 values'],
  MAX_YAML_LENGTH: ['wire/proto-json/yaml-limits', 'is refused when it has too many %s'],
  MAX_YAML_TOKENS: ['wire/proto-json/yaml-limits', 'is refused when it has too many %s'],
  MAX_SECRET_BYTES: [
    'security/providers/sds-secrets',
    'is rejected if it is larger than 1 MiB, before it is parsed',
  ],
  MAX_BUNDLE_BYTES: ['security/providers/file-watcher', '4194305 bytes, more than 4194304'],
  MAX_AUTHORITIES: [AUTHORITIES, '501 PEM blocks, more than the limit of 500'],
  MAX_REVOCATION_BYTES: ['security/revocation/revocation-lists', 'is not read beyond 4 MiB'],
  MAX_CERTIFICATE_LENGTH: [AUTHORITIES, '65621 characters, more than the limit of 65536'],
  MAX_CHAIN_CHARACTERS: [AUTHORITIES, 'has at most 262,144 characters'],
  MAX_CHAIN_LENGTH: [AUTHORITIES, 'has at most as many certificates as OpenSSL follows'],
  MAX_PRIVATE_KEY_LENGTH: [AUTHORITIES, 'has a key of at most 16,384 characters'],
  MAX_CURVE_KEY_BYTES: [
    'security/providers/encoded-keys',
    'a private key of 2000 bytes, more than the limit of 1024 for EC',
  ],
  MAX_MODULUS_BITS: [AUTHORITIES, 'is refused %s if the key is too large'],
  MAX_PUBLIC_EXPONENT: [AUTHORITIES, 'a public exponent of RSA of more than 31 bits'],
  MAX_CERTIFICATE_NAMES: [
    'security/peer/peer-limits',
    'is refused with the bound, whatever it is compared with',
  ],
  MAX_SAN_STEPS: ['security/peer/peer-limits', 'of the 1000 matchers of the cluster takes more'],
  MAX_DNS_ADDRESSES: [
    'dependency-manager/dns-watch',
    'uses the first 1000 different addresses of an answer, and says so in the log',
  ],
  MAX_REPORT_BYTES: ['lb/orca/call-load-report', 'it has more than 16384 bytes'],
  MAX_LOOKUP_RESPONSE_BYTES: ['lb/rls/control-channel', 'returns more than 16 KiB'],
  MAX_LOOKUP_TARGETS: ['lb/rls/balancer', 'it returns more targets than may be in use'],
  MAX_LOOKUP_ENTRIES: [
    'lb/rls/lookup-cache',
    'has at most 100,000 entries, however young and small',
  ],
  MAX_METRICS_OF_LOCALITY: ['xds-client/lrs/metrics', 'do not grow with what backends make up'],
  MAX_METRICS_OF_CLUSTER: [
    'xds-client/lrs/metrics',
    'of all localities of a cluster have a bounded number of names until the next report',
  ],
  MAX_METRIC_NAME_LENGTH: ['xds-client/lrs/metrics', 'leave out names that are too long'],
  MAX_HANDSHAKES_OF_ADDRESS: [
    'util/connection-admission',
    'has so many of an address in their TLS handshakes, and begins those of others',
  ],
  MAX_UNPROVEN: [
    'util/connection-admission',
    'has so many without a proof, and begins others when clients prove themselves or leave',
  ],
  MAX_HELLO_BYTES: ['util/connection-admission', 'waits for no more than 16 KiB of a ClientHello'],
  MAX_STREAMS_AT_FIRST: [SESSIONS, 'have few streams at first'],
  MAX_STREAMS_BEGUN_AT_FIRST: [SESSIONS, 'end with many streams, even ended ones'],
  DEFAULT_MAX_STREAMS: [SESSIONS, 'end with more streams than they have after'],
  MAX_HEADER_PAIRS: [SESSIONS, 'refuse many headers before the acknowledgement'],
  MAX_HEADER_LIST_BYTES: [SESSIONS, 'refuse large headers after the acknowledgement'],
  MAX_TINY_DATA_FRAMES: [SESSIONS, 'MAX_TINY_DATA_FRAMES'],
  REQUEST_LIMIT: [
    'observe/admin/csds-hostile',
    'refuses a request with %s, and answers the next one',
  ],
  MAX_WAITING_REQUESTS: ['observe/admin/csds', 'MAX_WAITING_REQUESTS'],
  MAX_STREAMS: ['orca/oob-service', 'refuses more than 10,000 streams until one has ended'],
  MAX_REQUEST_BYTES: [CONTROL_PLANE, 'ends a stream with a request of more than 64 MiB'],
  CLIENT_REQUEST_LIMIT: [CONTROL_PLANE, FLOOD],
  MAX_CONNECTIONS: [CONTROL_PLANE, 'has at most 20,000 connections'],
  MAX_STREAMS_OF_CONNECTION: [SESSIONS, 'end with more streams than they have after'],
  MAX_TYPES: [CONTROL_PLANE, FLOOD],
  MAX_NAMES: [CONTROL_PLANE, 'more than 100,000 names in several requests'],
  MAX_NAME_CHARACTERS: [CONTROL_PLANE, 'names of 10 MB'],
  MAX_NODE_BYTES: ['relay/hostile-connections', 'refuses a node with large metadata'],
  MAX_REJECTION_CHARACTERS: [
    'control-plane/delta-subscriptions',
    'has a rejection of %i characters, of which %i are kept with the mark',
  ],
  MAX_UNREAD_BYTES: [
    'control-plane/unread-bytes',
    'end the stream that has waited longest, once it has waited for a second',
  ],
  MAX_PENDING_AUTHENTICATIONS: [
    'control-plane/authentication',
    'bounds the checks that are pending, and their time',
  ],
  MAX_UNAUTHENTICATED_OF_ADDRESS: ['control-plane/admitted-connections', 'another address opens'],
  MAX_UNAUTHENTICATED: ['control-plane/admitted-connections', 'many addresses open'],
  MAX_LOAD_ENTRIES: [CONTROL_PLANE, 'leave out clusters that clients make up, and say so once'],
  MAX_LOAD_ENTRIES_OF_CLUSTER: [CONTROL_PLANE, 'MAX_LOAD_ENTRIES_OF_CLUSTER'],
};

it('lists every limit', () => {
  expect(Object.keys(TESTS).sort()).toEqual(Object.keys(limits).sort());
});

it.each(Object.entries(TESTS))('%s has a hostile test', (_name, [file, title]) => {
  expect(readFileSync(join(__dirname, `../${file}.test.ts`), 'utf8')).toContain(title);
});
