// Where the clients disagree, and why ours does as it does: `others` do the opposite of what is expected, and what `unsteady`
// ones do differs from run to run. The gRFC (A29 and so on), or the rule of docs/decisions/resource-validation.md.

/** An entry for each title. */
const entries = (others, because, titles, extra = {}) =>
  Object.fromEntries(titles.map((title) => [title, { others, because, ...extra }]));

export const disagreements = {
  ...entries(
    ['go', 'java'],
    'older fields are read one by one, as in C-core; grpc-go reads either all new or all old ones, grpc-java no older ones',
    ['fields: the older field of the identity', 'fields: combined: the older field of the roots'],
  ),
  ...entries(
    ['python', 'java'],
    'older fields are read, as in grpc-go; C-core reads this one in combined contexts only',
    ['fields: the older fields of both'],
  ),
  ...entries(
    ['go', 'python', 'java'],
    'older fields are read one by one; grpc-go reads either all new or all old ones, the others do not read this one',
    ['fields: the older field of the roots'],
  ),
  ...entries(
    ['java'],
    'A29: a certificate or authorities are enough; grpc-java wants both in each file_watcher',
    [
      'fields: roots of an instance without an identity',
      'fields: the identity of an instance without roots',
    ],
  ),
  ...entries(
    [],
    'A29: the roots are those of their own instance; grpc-java 1.75 takes what either instance has last read',
    ['fields: roots of another authority, of another instance than the identity'],
    { unsteady: ['java'] },
  ),
  ...entries(
    ['java'],
    'A29: rejected if true, as in grpc-go and C-core; false is the same as unset',
    ['fields: require_signed_certificate_timestamp: false'],
  ),
  ...entries(
    ['go', 'python', 'java'],
    'decisions/resource-validation.md: ignored, it would let longer chains pass than the control plane accepts',
    ['fields: max_verify_depth'],
  ),
  ...entries(['python'], 'decisions/resource-validation.md: refused, as in Envoy', [
    'fields: a matcher: empty prefix',
    'fields: a matcher: empty suffix',
  ]),
  ...entries(['java'], 'A101, which grpc-java 1.75 does not have', [
    'fields: sni: 256 characters',
    'server name: validated, of another server',
    'server name: validated, a wildcard for two labels',
    'server name: validated, in place of matchers',
    'server name: that of the endpoint, of another server',
    'server name: sni where the endpoint has none',
  ]),
  ...entries(
    ['python'],
    'A101: without a server name the matchers apply, and there are none; C-core refuses every certificate',
    ['server name: validated, none sent'],
  ),
  ...entries(['python'], 'A29: exact is exact; C-core compares every name as a DNS name', [
    'URI: exact in another case',
  ]),
  ...entries(
    ['java'],
    'A29: DNS names are compared in any case, without the final dot, and may be wildcards; grpc-java compares texts, and looks for wildcards in matchers',
    [
      'DNS: exact in another case',
      'DNS: exact with a final dot',
      'DNS: an upper-case name, exact',
      'DNS: a name with a final dot',
      'DNS: wildcard: one label',
      'DNS: wildcard: one label in another case',
    ],
  ),
  ...entries(
    ['java'],
    'A29: addresses are compared in the text of RFC 5952; grpc-java writes all groups',
    ['names: IPv6'],
  ),
  ...entries(
    ['python', 'java'],
    'A29: names of type email count, as in grpc-go; the others skip them',
    ['names: email', 'names: email by suffix'],
  ),
  ...entries(
    ['go', 'java'],
    'A29: the name as it is in the certificate; grpc-go escapes it first, grpc-java cannot read it',
    ['names: a URI with a comma'],
  ),
  ...entries(
    ['go', 'python', 'java'],
    'decisions/resource-validation.md: typed matchers count, as in Envoy; ignored, they would let servers pass that the control plane excludes',
    [
      'typed matchers: the right text of another type',
      'typed matchers: another name',
      'typed matchers: without a type',
      'typed matchers: of type OTHER_NAME',
      'typed matchers: without a matcher',
      'typed matchers: beside others that are satisfied',
    ],
  ),
  ...entries(
    ['java'],
    'A29: matchers take the place of the host name; grpc-java 1.75 demands the host name as well with the roots of the system',
    [
      'server: of an authority of the system',
      'server: of an authority of the system, combined',
      'server: of an authority of the system, a matcher',
    ],
  ),
  ...entries(['python'], 'A87, which C-core 1.85 does not have: it does not read the map', [
    'SPIFFE: an identity of its own domain',
    'SPIFFE: an identity of another domain, of its own authority',
    'SPIFFE: a SPIFFE ID without a path',
    'SPIFFE: an intermediate authority',
    'SPIFFE: no domains',
  ]),
};
