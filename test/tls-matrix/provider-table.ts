import type { FileContent, OwnFiles, TrustDomains } from './tls-case';

const authorities = (...names: readonly string[]): FileContent => ({ kind: 'certificates', names });
const text = (content: string): FileContent => ({ kind: 'text', text: content });
const bundles = (domains: TrustDomains): OwnFiles => ({
  ...pair('client'),
  'bundles.json': { kind: 'bundles', domains },
});
const bundleText = (content: string): OwnFiles => ({
  ...pair('client'),
  'bundles.json': text(content),
});

/** The certificate and the key of a client. */
export function pair(name: string, key = name): OwnFiles {
  return { 'cert.pem': { kind: 'chain', name }, 'key.pem': { kind: 'key', name: key } };
}

/** The authorities that are trusted. */
export function trusting(...names: readonly string[]): OwnFiles {
  return { 'ca.pem': authorities(...names) };
}

/** The authorities that are trusted for each trust domain. */
export function trustingDomains(domains: TrustDomains): OwnFiles {
  return { 'bundles.json': { kind: 'bundles', domains } };
}

const td = ['root'];
const other = ['other-root'];

/** Of an identity: who signed it, whether it fits its key, whether it is there. */
const identities: Readonly<Record<string, OwnFiles>> = {
  root: { ...pair('client'), ...trusting('root') },
  'client-of-other-root': pair('client-of-other-root'),
  'client-of-intermediate': pair('client-of-intermediate'),
  'expired-client': pair('expired-client'),
  'client-for-servers': pair('client-for-servers'),
  'rsa-client': pair('rsa-client'),
  'ed25519-client': pair('ed25519-client'),
  'key of another': pair('client', 'root'),
  'key of another kind': pair('client', 'rsa-client'),
  'key without certificate': { ...pair('client'), 'cert.pem': { kind: 'absent' } },
  'certificate without key': { ...pair('client'), 'key.pem': { kind: 'absent' } },
  'certificate as key': { ...pair('client'), 'key.pem': { kind: 'chain', name: 'client' } },
};

/** Of authorities. */
const roots: Readonly<Record<string, OwnFiles>> = {
  ...Object.fromEntries(
    [
      'other-root',
      'namesake-root',
      'expired-root',
      'future-root',
      'weak-root',
      'rsa-root',
      'ed25519-root',
      'intermediate',
      'second-intermediate',
      'self-signed',
      'good',
      'expired',
      'self-signed-authority',
      'constrained-root',
      'unconstrained-twin',
      'root-of-other',
    ].map((name) => [name, trusting(name)]),
  ),
  'several roots': trusting('other-root', 'rsa-root', 'root'),
  'twice the same root': trusting('root', 'root'),
  'root and intermediate': trusting('root', 'intermediate'),
  'expired and good root': trusting('expired-root', 'root'),
  'empty file': { 'ca.pem': text('') },
  'no PEM': { 'ca.pem': text('not a certificate\n') },
  'half a certificate': { 'ca.pem': { kind: 'half', names: ['root'] } },
  'second block damaged': { 'ca.pem': { kind: 'damaged', names: ['root', 'other-root'] } },
  'a private key': { 'ca.pem': { kind: 'key', name: 'client' } },
  'no file': { 'ca.pem': { kind: 'absent' } },
  'a directory': { 'ca.pem': { kind: 'directory' } },
};

/** Of trust bundle maps. */
const maps: Readonly<Record<string, OwnFiles>> = {
  'two domains': bundles({ 'td.test': td, 'other.test': other }),
  'two domains, the other first': bundles({ 'other.test': other, 'td.test': td }),
  'own domain': bundles({ 'td.test': td }),
  'other domain': bundles({ 'other.test': other }),
  'no domains': bundles({}),
  'domain without keys': bundles({ 'td.test': [], 'other.test': other }),
  'domain with several roots': bundles({ 'td.test': ['other-root', 'root'] }),
  'roots of both in both': bundles({ 'td.test': ['root', 'other-root'], 'other.test': other }),
  'intermediate as root': bundles({ 'td.test': ['intermediate'], 'other.test': other }),
  'constrained root': bundles({ 'td.test': ['constrained-root'] }),
  'constrained root, its twin elsewhere': bundles({
    'other.test': ['unconstrained-twin'],
    'td.test': ['constrained-root'],
  }),
  'twin elsewhere, after it': bundles({
    'td.test': ['constrained-root'],
    'other.test': ['unconstrained-twin'],
  }),
  'expired root, good elsewhere': bundles({ 'td.test': ['expired-root'], 'other.test': td }),
  'map and authorities': { ...bundles({ 'td.test': other }), ...trusting('root') },
  'map with jwt keys': { ...pair('client'), 'bundles.json': { kind: 'jwt bundles', names: td } },
  'map with jwt keys alone': {
    ...pair('client'),
    'bundles.json': { kind: 'jwt bundles', names: [] },
  },
  'map of another use': {
    ...pair('client'),
    'bundles.json': { kind: 'bundles of use', use: 'x', names: td },
  },
  'map without use': { ...pair('client'), 'bundles.json': { kind: 'bundles of use', names: td } },
  'map is no JSON': bundleText('{'),
  'map is empty': bundleText(''),
  'map is a list': bundleText('[]'),
  'map without trust_domains': bundleText('{}'),
  'map without keys': bundleText('{"trust_domains":{"td.test":{"spiffe_sequence":1}}}'),
  'map with a bad domain name': bundles({ 'td.test': td, 'TD.test': td }),
  'map with a bad key beside': bundleText(
    '{"trust_domains":{"td.test":{"keys":[{"kty":"EC","use":"x509-svid","x5c":["AAAA"]}]}}}',
  ),
  'map with two certificates in a key': {
    ...pair('client'),
    'bundles.json': { kind: 'two in a key', names: ['root', 'other-root'] },
  },
  'map is absent': { ...pair('client'), 'bundles.json': { kind: 'absent' } },
};

/** The provider instances of the bootstrap by name, each a `file_watcher` with these files. */
export const PROVIDERS: Readonly<Record<string, OwnFiles>> = { ...identities, ...roots, ...maps };
