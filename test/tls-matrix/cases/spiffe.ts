// SPIFFE trust bundle maps (gRFC A87): ids, trust domains, what is in the map.

import { fails, overTls, tls, WRONG_NAME } from '../contexts';
import type { Json } from '../../support/xds-json';
import type { Expectation, TlsCase } from '../tls-case';

const good = overTls();
const NO_ID = 'are not one SPIFFE ID';
const NOT_SIGNED = /is not signed by|not trusted|permitted|trust bundle/;
const UNKNOWN = 'there is no trust bundle for the trust domain';
const PATH = 'a'.repeat(2048 - 'spiffe://td.test/'.length);

/** By what the names in the certificate are. */
const ids: readonly (readonly [name: string, names: readonly string[], expected: Expectation])[] = [
  ['with a path', ['spiffe://td.test/ns/a/sa/b'], good],
  ['without a path', ['spiffe://td.test'], good],
  ['with all characters of a path', ['spiffe://td.test/aZ09.-_'], good],
  ['with three dots', ['spiffe://td.test/...'], good],
  ['with a scheme in capitals', ['SPIFFE://td.test/a'], good],
  ['of 2048 bytes', [`spiffe://td.test/${PATH}`], good],
  ['of 2049 bytes', [`spiffe://td.test/${PATH}a`], fails('certificate check failure')],
  ['with a trust domain in capitals', ['spiffe://TD.test/a'], fails(NO_ID)],
  ['with a port', ['spiffe://td.test:8443/a'], fails(NO_ID)],
  ['with a user', ['spiffe://user@td.test/a'], fails(NO_ID)],
  ['with a query', ['spiffe://td.test/a?b=c'], fails(NO_ID)],
  ['with a fragment', ['spiffe://td.test/a#b'], fails(NO_ID)],
  ['with an escape in the path', ['spiffe://td.test/%61'], fails(NO_ID)],
  ['with an escape in the trust domain', ['spiffe://td%2etest/a'], fails(NO_ID)],
  ['with a final slash', ['spiffe://td.test/a/'], fails(NO_ID)],
  ['with a slash alone', ['spiffe://td.test/'], fails(NO_ID)],
  ['with an empty segment', ['spiffe://td.test/a//b'], fails(NO_ID)],
  ['with a segment of one dot', ['spiffe://td.test/a/./b'], fails(NO_ID)],
  ['with a segment of two dots', ['spiffe://td.test/../b'], fails(NO_ID)],
  ['with a space', ['spiffe://td.test/a b'], fails(NO_ID)],
  ['with a comma', ['spiffe://td.test/a, URI:spiffe://td.test/b'], fails(NO_ID)],
  ['without a trust domain', ['spiffe:///a'], fails(NO_ID)],
  ['with one slash', ['spiffe:/td.test/a'], fails(NO_ID)],
  ['of another scheme', ['https://td.test/a'], fails(NO_ID)],
  ['twice', ['spiffe://td.test/a', 'spiffe://td.test/a'], fails(NO_ID)],
  ['and another one of the domain', ['spiffe://td.test/a', 'spiffe://td.test/b'], fails(NO_ID)],
  ['and one of another domain', ['spiffe://td.test/a', 'spiffe://other.test/b'], fails(NO_ID)],
  ['and a URI of another scheme', ['spiffe://td.test/a', 'https://td.test/a'], fails(NO_ID)],
  ['of a domain below', ['spiffe://a.td.test/a'], fails(UNKNOWN)],
  ['of a domain above', ['spiffe://test/a'], fails(UNKNOWN)],
  ['of an unknown domain', ['spiffe://unknown.test/a'], fails(UNKNOWN)],
  ['of a domain with a final dot', ['spiffe://td.test./a'], fails(UNKNOWN)],
  ['of a domain named like a member of objects', ['spiffe://constructor/a'], fails(UNKNOWN)],
];

type DomainRow = readonly [name: string, roots: string, certificate: string, expected: Expectation];

/** By who signed what. `root` is the authority of td.test, `other-root` that of other.test. */
const domains: readonly DomainRow[] = [
  ['its own, signed by itself', 'two domains', 'good', good],
  ['its own, by an intermediate', 'two domains', 'td-by-intermediate', good],
  ['the other, signed by itself', 'two domains', 'other-domain', good],
  ['the other, by its intermediate', 'two domains', 'other-by-other-intermediate', good],
  ['td.test, minted by the other', 'two domains', 'td-by-other', fails(NOT_SIGNED)],
  ['the other, minted by td.test', 'two domains', 'other-by-td', fails(NOT_SIGNED)],
  [
    'td.test, minted by the other, in another order',
    'two domains, the other first',
    'td-by-other',
    fails(NOT_SIGNED),
  ],
  [
    'the other, minted by td.test, in another order',
    'two domains, the other first',
    'other-by-td',
    fails(NOT_SIGNED),
  ],
  [
    'td.test, minted by an intermediate of the other',
    'two domains',
    'td-by-other-intermediate',
    fails(NOT_SIGNED),
  ],
  [
    'td.test, minted by the other, which is not in the map',
    'own domain',
    'td-by-other',
    fails(NOT_SIGNED),
  ],
  [
    'the other, which is not in the map',
    'own domain',
    'other-domain',
    fails(/no trust bundle|trusted/),
  ],
  ['td.test, which is not in the map', 'other domain', 'good', fails(/no trust bundle|trusted/)],
  ['td.test, in a map without domains', 'no domains', 'good', fails(/trust/)],
  ['td.test, without keys', 'domain without keys', 'good', fails(/trust/)],
  [
    'td.test, minted by the other, without keys',
    'domain without keys',
    'td-by-other',
    fails(NOT_SIGNED),
  ],
  ['the other, beside a domain without keys', 'domain without keys', 'other-domain', good],
  ['td.test, the last of its roots', 'domain with several roots', 'good', good],
  ['td.test, the first of its roots', 'domain with several roots', 'td-by-other', good],
  ['td.test, a root that both have', 'roots of both in both', 'td-by-other', good],
  [
    'the other, a root that only td.test has',
    'roots of both in both',
    'other-by-td',
    fails(NOT_SIGNED),
  ],
  ['td.test, an intermediate as its root', 'intermediate as root', 'td-by-intermediate', good],
  [
    'td.test, an expired root',
    'expired root, good elsewhere',
    'of-expired-root',
    fails(/expired|trust/),
  ],
  [
    'td.test, an expired root, minted by the other',
    'expired root, good elsewhere',
    'good',
    fails(NOT_SIGNED),
  ],
  [
    'a name inside the constraints of the root',
    'constrained root',
    'inside-constrained-root',
    good,
  ],
  [
    'a name outside the constraints of the root',
    'constrained root',
    'outside-constrained-root',
    fails(NOT_SIGNED),
  ],
  [
    'a name outside the constraints, an unconstrained twin in another domain',
    'constrained root, its twin elsewhere',
    'outside-constrained-root',
    fails(NOT_SIGNED),
  ],
  [
    'a name outside the constraints, an unconstrained twin in a later domain',
    'twin elsewhere, after it',
    'outside-constrained-root',
    fails(NOT_SIGNED),
  ],
  [
    'a name inside the constraints, an unconstrained twin in another domain',
    'constrained root, its twin elsewhere',
    'inside-constrained-root',
    good,
  ],
  ['an expired certificate', 'two domains', 'expired', fails('has expired')],
  ['a certificate for clients', 'two domains', 'usage-client', fails('is not for servers')],
  ['a certificate of no SPIFFE ID', 'two domains', 'inside-dns-authority', fails(NO_ID)],
];

/** Chains that several roots signed. */
const crossSigned: readonly (readonly [string, readonly string[], Expectation])[] = [
  ['td.test, the intermediate of td.test', ['td-by-bridge', 'bridge'], good],
  [
    'td.test, the intermediate of the other',
    ['td-by-bridge', 'bridge-of-other'],
    fails(NOT_SIGNED),
  ],
  ['the other, the intermediate of the other', ['other-by-bridge', 'bridge-of-other'], good],
  ['the other, the intermediate of td.test', ['other-by-bridge', 'bridge'], fails(NOT_SIGNED)],
  ['td.test, both, its own first', ['td-by-bridge', 'bridge', 'bridge-of-other'], good],
  // OpenSSL takes the first issuer that is presented, and looks for another one among the trusted ones only.
  ['td.test, both, its own last', ['td-by-bridge', 'bridge-of-other', 'bridge'], fails(NOT_SIGNED)],
  ['the other, both, its own first', ['other-by-bridge', 'bridge-of-other', 'bridge'], good],
  [
    'the other, both, its own last',
    ['other-by-bridge', 'bridge', 'bridge-of-other'],
    fails(NOT_SIGNED),
  ],
];

/** By what the file is. The server is the good one. */
const maps: Readonly<Record<string, Expectation>> = {
  'map and authorities': fails(NOT_SIGNED),
  'map with jwt keys': good,
  'map with jwt keys alone': fails(/trust/),
  'map of another use': fails('must be "x509-svid" or "jwt-svid"'),
  'map without use': fails('use'),
  'map is no JSON': fails('it is not JSON'),
  'map is empty': fails('it is not JSON'),
  'map is a list': fails('bundles.json'),
  'map without trust_domains': fails('trust_domains: field not present'),
  'map without keys': fails('keys: field not present'),
  'map with a bad domain name': fails('not a name of a trust domain'),
  'map with a bad key beside': fails('not a certificate in base64 of DER'),
  'map with two certificates in a key': fails('must have one certificate'),
  'map is absent': fails('ENOENT'),
};

const matchers: readonly (readonly [string, Json, Expectation])[] = [
  ['a matcher that is satisfied', { exact: 'spiffe://td.test/ns/a/sa/server' }, good],
  ['a matcher that is not', { exact: 'spiffe://td.test/x' }, fails(WRONG_NAME)],
  ['a matcher of its trust domain', { prefix: 'spiffe://td.test/' }, good],
  [
    'a matcher of another trust domain',
    { prefix: 'spiffe://other.test/' },
    // The bundle may be chosen by what the matchers allow.
    fails(/do not satisfy|is not signed by the trust bundle/),
  ],
  ['a matcher of a DNS name', { exact: 'server.test' }, good],
];

export const spiffeCases: readonly TlsCase[] = [
  ...ids.map(([name, names, expected]) => ({
    group: 'SPIFFE: ids',
    name,
    tls: tls({ roots: 'two domains' }),
    server: { names: names.map((id) => `URI:${id}`) },
    expected,
  })),
  ...domains.map(([name, roots, certificate, expected]) => ({
    group: 'SPIFFE: trust domains',
    name,
    tls: tls({ roots }),
    server: { certificate },
    expected,
  })),
  ...crossSigned.map(([name, chain, expected]) => ({
    group: 'SPIFFE: cross-signed',
    name,
    tls: tls({ roots: 'two domains' }),
    server: { chain },
    expected,
  })),
  ...Object.entries(maps).map(([roots, expected]) => ({
    group: 'SPIFFE: maps',
    name: roots,
    tls: tls({ roots }),
    expected,
  })),
  ...matchers.map(([name, matcher, expected]) => ({
    group: 'SPIFFE: matchers',
    name,
    tls: tls({ roots: 'two domains', validation: { match_subject_alt_names: [matcher] } }),
    expected,
  })),
];
