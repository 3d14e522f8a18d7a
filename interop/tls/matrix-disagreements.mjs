// Where grpc-go or C-core (python) do otherwise than the TLS matrix expects, and why this client does as it does. The gRFC (A29
// and so on), or the rule of docs/decisions/resource-validation.md.

const explanations = [
  {
    judges: ['go', 'python'],
    because:
      'decisions/resource-validation.md: typed matchers count, as in Envoy; they are ignored',
    titles: [
      'names: typed matchers: DNS, with the text of URI',
      'names: typed matchers: DNS, with the text of email',
      'names: typed matchers: DNS, with the text of IP',
      'names: typed matchers: URI, with the text of DNS',
      'names: typed matchers: URI, with the text of email',
      'names: typed matchers: URI, with the text of IP',
      'names: typed matchers: email, with the text of DNS',
      'names: typed matchers: email, with the text of URI',
      'names: typed matchers: email, with the text of IP',
      'names: typed matchers: IP, with the text of DNS',
      'names: typed matchers: IP, with the text of URI',
      'names: typed matchers: IP, with the text of email',
      'names: several matchers: typed ones take the place of others',
      'configuration: rejected: match_typed_subject_alt_names[0].san_type',
      'configuration: rejected: match_typed_subject_alt_names[0].matcher',
    ],
  },
  {
    judges: ['go', 'python'],
    because:
      'decisions/resource-validation.md: ignored, it would let longer chains pass than the control plane accepts',
    titles: ['configuration: rejected: max_verify_depth'],
  },
  {
    judges: ['go', 'python'],
    because: 'a DNS name with an empty label stands for no host; they compare texts',
    titles: ['names: DNS: an empty label'],
  },
  {
    judges: ['go', 'python'],
    because: 'an address is compared with the addresses of the certificate; they look at DNS names',
    titles: [
      'server name: validated: an address as hostname, in the certificate',
      'server name: validated: an IPv6 address as hostname, in the certificate',
      'server name: validated: an address as hostname, as DNS name',
    ],
  },
  {
    judges: ['go', 'python'],
    because: 'one bad block voids the file; they trust those before it',
    titles: ['roots: unusable: second block damaged'],
  },
  {
    judges: ['go'],
    because:
      'A87: the bundles of SPIRE have keys for JWT, which are skipped; grpc-go rejects the map',
    titles: ['SPIFFE: maps: map with jwt keys'],
  },
  {
    judges: ['go'],
    because: 'SPIFFE: an id has at most 2048 bytes, which grpc-go does not check',
    titles: ['SPIFFE: ids: of 2049 bytes'],
  },
  {
    judges: ['go'],
    because:
      'OpenSSL wants serverAuth itself and looks at the usage of the key; crypto/x509 takes any usage',
    titles: [
      'chain: certificate: for any usage',
      'chain: certificate: whose key is for certificates',
    ],
  },
  {
    judges: ['go'],
    because: 'OpenSSL takes the first issuer that is presented; crypto/x509 tries each',
    titles: [
      'chain: anchors: cross-signed, both presented, the trusted one last',
      'SPIFFE: cross-signed: td.test, both, its own last',
      'SPIFFE: cross-signed: the other, both, its own last',
    ],
  },
  {
    judges: ['go', 'python'],
    because: 'their libraries do not have keys of this kind',
    titles: [
      'keys and signatures: rsa-pss-key',
      'keys and signatures: rsa-pss-key, TLS 1.2',
      'keys and signatures: ed448-key',
    ],
  },
  {
    judges: ['go'],
    because: 'crypto/x509 does not have this digest',
    titles: ['keys and signatures: sha224-signature'],
  },
  {
    judges: ['python'],
    because: 'BoringSSL does not offer this kind of key',
    titles: [
      'keys and signatures: p521-key',
      'keys and signatures: ed25519-key',
      'keys and signatures: ed25519-key, TLS 1.2',
    ],
  },
  {
    judges: ['python'],
    because:
      'OpenSSL refuses SHA-1 and weak keys by its security level; BoringSSL has none for chains',
    titles: [
      'keys and signatures: sha1-signature',
      'keys and signatures: of-sha1-authority',
      'keys and signatures: signed by weak-root',
    ],
  },
  {
    judges: ['python'],
    because: 'BoringSSL does not support constraints on addresses',
    titles: ['chain: certificate: of an address that its authority is permitted'],
  },
  {
    judges: ['python'],
    because: 'A29: exact is exact; C-core compares every name as a DNS name',
    titles: [
      'names: URI: exact in capitals',
      'names: IP: exact in capitals',
      'names: hard to read: a URI in another case',
    ],
  },
  {
    judges: ['python'],
    because: 'A29: names of type email count, as in grpc-go; C-core skips them',
    titles: [
      'names: email: exact',
      'names: email: exact in capitals, ignore_case',
      'names: email: prefix',
      'names: email: prefix in capitals, ignore_case',
      'names: email: suffix',
      'names: email: suffix in capitals, ignore_case',
      'names: email: contains',
      'names: email: contains in capitals, ignore_case',
      'names: email: regex',
    ],
  },
  {
    judges: ['go'],
    because: 'A29: the name as it is in the certificate; grpc-go escapes it first',
    titles: [
      'names: hard to read: a URI that looks like two: its start',
      'names: hard to read: a quotation mark',
      'names: hard to read: a backslash',
    ],
  },
  {
    judges: ['go'],
    because: 'the address as it is in the certificate; net.IP has no IPv4 in IPv6',
    titles: ['names: IP: IPv4 in IPv6', 'names: IP: IPv4 in IPv6, as IPv4'],
  },
  {
    judges: ['python'],
    because: 'RFC 6066: a server name has no final dot, which C-core sends',
    titles: ['server name: sent: a hostname with a final dot'],
  },
  {
    judges: ['python'],
    because: 'A101: without a server name the matchers apply; C-core refuses every certificate',
    titles: [
      'server name: validated: none sent, no matchers',
      'server name: validated: none sent, a matcher that is satisfied',
    ],
  },
  {
    judges: ['python'],
    because: 'decisions/resource-validation.md: refused, as in Envoy',
    titles: ['configuration: rejected: match_subject_alt_names[0].prefix'],
  },
  {
    judges: ['python'],
    because: 'A29 names the socket; C-core looks at its type only',
    titles: ['configuration: rejected: transport_socket: another name'],
  },
  {
    judges: ['python'],
    because:
      'older fields are read, as in grpc-go; C-core reads this one in combined contexts only',
    titles: ['configuration: accepted: the older field of the roots'],
  },
  {
    judges: ['python'],
    because: 'C-core does not expect a directory',
    titles: ['roots: unusable: a directory'],
  },
  {
    judges: ['python'],
    because: 'A87, which C-core 1.85 does not have: it does not read the map',
    titles: [
      'SPIFFE: ids: with a path',
      'SPIFFE: ids: without a path',
      'SPIFFE: ids: with all characters of a path',
      'SPIFFE: ids: with three dots',
      'SPIFFE: ids: with a scheme in capitals',
      'SPIFFE: ids: of 2048 bytes',
      'SPIFFE: trust domains: its own, signed by itself',
      'SPIFFE: trust domains: its own, by an intermediate',
      'SPIFFE: trust domains: the other, signed by itself',
      'SPIFFE: trust domains: the other, by its intermediate',
      'SPIFFE: trust domains: the other, beside a domain without keys',
      'SPIFFE: trust domains: td.test, the last of its roots',
      'SPIFFE: trust domains: td.test, the first of its roots',
      'SPIFFE: trust domains: td.test, a root that both have',
      'SPIFFE: trust domains: td.test, an intermediate as its root',
      'SPIFFE: trust domains: a name inside the constraints of the root',
      'SPIFFE: trust domains: a name inside the constraints, an unconstrained twin in another domain',
      'SPIFFE: cross-signed: td.test, the intermediate of td.test',
      'SPIFFE: cross-signed: the other, the intermediate of the other',
      'SPIFFE: cross-signed: td.test, both, its own first',
      'SPIFFE: cross-signed: the other, both, its own first',
      'SPIFFE: maps: map and authorities',
      'SPIFFE: maps: map with jwt keys',
      'SPIFFE: matchers: a matcher that is satisfied',
      'SPIFFE: matchers: a matcher of its trust domain',
      'SPIFFE: matchers: a matcher of a DNS name',
    ],
  },
];

/** By title and implementation, why it differs. */
export const matrixDisagreements = {};
for (const { judges, because, titles } of explanations) {
  for (const title of titles) {
    const reasons = (matrixDisagreements[title] ??= {});
    for (const judge of judges) reasons[judge] = because;
  }
}
