// Configurations that differ in the names that a server must have.
import { accept, ID, mutual, names, regex, reject, typedNames } from './contexts.mjs';

const ignoringCase = (matcher) => ({ ...matcher, ignore_case: true });

/** Matchers of one name, and what becomes of a call to the server that has it. */
const nameRows = (kind, server, rows) =>
  Object.entries(rows).map(([text, [matcher, expected]]) => ({
    title: `${kind}: ${text}`,
    tls: names(...(Array.isArray(matcher) ? matcher : [matcher])),
    server,
    expected,
  }));

const uriRows = nameRows('URI', 'spiffe', {
  exact: [{ exact: ID }, accept],
  'another exact': [{ exact: 'spiffe://td.test/ns/a/sa/other' }, reject],
  'the start of it, exact': [{ exact: 'spiffe://td.test/ns/a' }, reject],
  'exact in another case': [{ exact: ID.toUpperCase() }, reject],
  'exact, ignore_case': [ignoringCase({ exact: ID.toUpperCase() }), accept],
  prefix: [{ prefix: 'spiffe://td.test/ns/a/' }, accept],
  'another prefix': [{ prefix: 'spiffe://td.test/ns/b/' }, reject],
  'prefix in another case': [{ prefix: 'SPIFFE://td' }, reject],
  'prefix, ignore_case': [ignoringCase({ prefix: 'SPIFFE://TD' }), accept],
  suffix: [{ suffix: '/sa/server' }, accept],
  'another suffix': [{ suffix: '/sa/client' }, reject],
  'suffix, ignore_case': [ignoringCase({ suffix: '/SA/SERVER' }), accept],
  contains: [{ contains: '/ns/a/' }, accept],
  'another contains': [{ contains: '/ns/b/' }, reject],
  'contains, ignore_case': [ignoringCase({ contains: '/NS/A/' }), accept],
  'regular expression': [regex('spiffe://td\\.test/ns/[a-z]+/sa/server'), accept],
  'regular expression for a part': [regex('td\\.test'), reject],
  'regular expression in another case': [regex('SPIFFE://.*'), reject],
  'regular expression, ignore_case': [ignoringCase(regex('SPIFFE://.*')), reject],
  'the last of several': [[{ exact: 'a.test' }, { prefix: 'x' }, { exact: ID }], accept],
  'none of several': [[{ exact: 'a.test' }, { prefix: 'x' }, { exact: 'y' }], reject],
});

const dnsRows = nameRows('DNS', 'dns', {
  exact: [{ exact: 'server.test' }, accept],
  'another exact': [{ exact: 'other.test' }, reject],
  'exact in another case': [{ exact: 'Server.TEST' }, accept],
  'exact, ignore_case': [ignoringCase({ exact: 'SERVER.TEST' }), accept],
  'exact with a final dot': [{ exact: 'server.test.' }, accept],
  'a domain above': [{ exact: 'test' }, reject],
  'a domain below': [{ exact: 'a.server.test' }, reject],
  'a wildcard in the matcher': [{ exact: '*.test' }, reject],
  prefix: [{ prefix: 'server.' }, accept],
  'prefix in another case': [{ prefix: 'SERVER.' }, reject],
  suffix: [{ suffix: '.test' }, accept],
  contains: [{ contains: 'ver.te' }, accept],
  'regular expression': [regex('[a-z]+\\.test'), accept],
});

const dnsServers = [
  ['an upper-case name, exact', 'dns-upper-case', { exact: 'server.test' }, accept],
  ['an upper-case name, prefix', 'dns-upper-case', { prefix: 'server.' }, reject],
  ['a name with a final dot', 'dns-final-dot', { exact: 'server.test' }, accept],
  ['the last of several names', 'several-dns', { exact: 'three.test' }, accept],
  ['none of several names', 'several-dns', { exact: 'four.test' }, reject],
  ['wildcard: one label', 'wildcard', { exact: 'a.wild.test' }, accept],
  ['wildcard: one label in another case', 'wildcard', { exact: 'A.Wild.Test' }, accept],
  ['wildcard: two labels', 'wildcard', { exact: 'a.b.wild.test' }, reject],
  ['wildcard: no label', 'wildcard', { exact: 'wild.test' }, reject],
  ['wildcard: an empty label', 'wildcard', { exact: '.wild.test' }, reject],
  ['wildcard: a prefix', 'wildcard', { prefix: 'a.' }, reject],
  ['wildcard: a suffix', 'wildcard', { suffix: '.wild.test' }, accept],
  ['wildcard: part of a label', 'wildcard-partial', { exact: 'server.wild.test' }, reject],
  ['wildcard: not the first label', 'wildcard-inside', { exact: 'a.b.test' }, reject],
  ['wildcard: alone', 'wildcard-alone', { exact: 'test' }, reject],
].map(([text, server, matcher, expected]) => ({
  title: `DNS: ${text}`,
  tls: names(matcher),
  server,
  expected,
}));

const otherNames = [
  ['IPv4', 'ip', { exact: '127.0.0.1' }, accept],
  ['another IPv4', 'ip', { exact: '127.0.0.2' }, reject],
  ['IPv4 by prefix', 'ip', { prefix: '127.0.' }, accept],
  ['IPv6', 'ip', { exact: '2001:db8::1' }, accept],
  ['IPv6 as openssl writes it', 'ip', { exact: '2001:DB8:0:0:0:0:0:1' }, reject],
  ['email', 'email', { exact: 'ops@server.test' }, accept],
  ['another email', 'email', { exact: 'dev@server.test' }, reject],
  ['email by suffix', 'email', { suffix: '@server.test' }, accept],
  ['no name, no matcher', 'nameless', undefined, accept],
  ['no name, the common name', 'nameless', { exact: 'server.test' }, reject],
  ['no name, any text', 'nameless', { prefix: '' }, reject],
  ['another kind of name, no matcher', 'other-name', undefined, accept],
  ['another kind of name', 'other-name', { exact: 'server.test' }, reject],
  ['a URI that looks like two', 'odd-uri', { exact: 'spiffe://td.test/forged' }, reject],
  ['a URI with a comma', 'odd-uri', { prefix: 'https://a.test/x, ' }, accept],
  ['the second of two URIs', 'several-uris', { exact: 'spiffe://td.test/two' }, accept],
].map(([text, server, matcher, expected]) => ({
  title: `names: ${text}`,
  tls: matcher === undefined ? mutual() : names(matcher),
  server,
  expected,
}));

const typedRows = [
  ['URI', [{ san_type: 'URI', matcher: { exact: ID } }], accept],
  ['the right text of another type', [{ san_type: 'DNS', matcher: { exact: ID } }], reject],
  ['DNS', [{ san_type: 'DNS', matcher: { exact: 'server.test' } }], accept],
  [
    'the second of two',
    ['DNS', 'URI'].map((san_type) => ({ san_type, matcher: { exact: ID } })),
    accept,
  ],
  ['another name', [{ san_type: 'URI', matcher: { exact: 'spiffe://td.test/x' } }], reject],
  ['without a type', [{ matcher: { exact: ID } }], reject],
  [
    'of type OTHER_NAME',
    [{ san_type: 'OTHER_NAME', oid: '1.2.3', matcher: { exact: ID } }],
    reject,
  ],
  ['without a matcher', [{ san_type: 'URI' }], reject],
].map(([text, matchers, expected]) => ({
  title: `typed matchers: ${text}`,
  tls: typedNames(...matchers),
  server: 'spiffe',
  expected,
}));

const beside = {
  match_subject_alt_names: [{ exact: ID }],
  match_typed_subject_alt_names: [{ san_type: 'URI', matcher: { exact: 'spiffe://td.test/x' } }],
};
const typedBeside = [
  {
    title: 'typed matchers: beside others that are satisfied',
    tls: mutual(beside),
    server: 'spiffe',
    expected: reject,
  },
];

export const nameConfigurations = [
  ...uriRows,
  ...dnsRows,
  ...dnsServers,
  ...otherNames,
  ...typedRows,
  ...typedBeside,
];
