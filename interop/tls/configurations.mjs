// Security configurations of clusters, each with a server, and what becomes of a call.
import {
  accept,
  common,
  identity,
  IDENTITY,
  mutual,
  names,
  reject,
  roots,
  system,
} from './contexts.mjs';
import { fields } from './fields.mjs';
import { nameConfigurations } from './names.mjs';

/** What the certificate of the server is like. */
const servers = [
  ['expired', mutual(), 'expired', reject],
  ['allowed to have expired', mutual({ allow_expired_certificate: true }), 'expired', reject],
  ['not valid yet', mutual(), 'future', reject],
  ['of another authority', mutual(), 'other-root', reject],
  [
    'of another authority, accept untrusted',
    mutual({ trust_chain_verification: 'ACCEPT_UNTRUSTED' }),
    'other-root',
    reject,
  ],
  ['signed by itself', mutual(), 'self-signed', reject],
  ['signed by an intermediate authority', mutual(), 'intermediate', accept],
  ['without its intermediate authority', mutual(), 'missing-intermediate', reject],
  [
    'an intermediate authority as the only root',
    roots('intermediate'),
    'missing-intermediate',
    accept,
  ],
  ['whose usage is that of clients', mutual(), 'client-usage', reject],
  ['whose usage is that of servers', mutual(), 'server-usage', accept],
  ['of an authority of the system', system(), 'system-root', accept],
  [
    'of an authority of the system, combined',
    common({
      ...IDENTITY,
      combined_validation_context: { default_validation_context: { system_root_certs: {} } },
    }),
    'system-root',
    accept,
  ],
  [
    'of an authority of the system, beside an instance',
    mutual({ system_root_certs: {} }),
    'system-root',
    reject,
  ],
  [
    'of an authority of the system, a matcher',
    system({ match_subject_alt_names: [{ exact: 'server.test' }] }),
    'system-root',
    accept,
  ],
  [
    'of an authority of the system, another matcher',
    system({ match_subject_alt_names: [{ exact: 'a.test' }] }),
    'system-root',
    reject,
  ],
  [
    'of an authority of the system, without the field',
    common({ ...IDENTITY, validation_context: {} }),
    'system-root',
    reject,
  ],
].map(([text, tls, server, expected]) => ({ title: `server: ${text}`, tls, server, expected }));

const validated = { auto_sni_san_validation: true };
const serverNames = [
  ['validated', mutual({}, { sni: 'server.test', ...validated }), 'dns', accept],
  ['validated, of another server', mutual({}, { sni: 'other.test', ...validated }), 'dns', reject],
  ['validated, a wildcard', mutual({}, { sni: 'a.wild.test', ...validated }), 'wildcard', accept],
  [
    'validated, a wildcard for two labels',
    mutual({}, { sni: 'a.b.wild.test', ...validated }),
    'wildcard',
    reject,
  ],
  [
    'validated, in place of matchers',
    mutual({ match_subject_alt_names: [{ exact: 'x' }] }, { sni: 'server.test', ...validated }),
    'dns',
    accept,
  ],
  ['validated, none sent', mutual({}, validated), 'dns', accept],
  [
    'validated, none sent, a matcher',
    mutual({ match_subject_alt_names: [{ exact: 'x' }] }, validated),
    'dns',
    reject,
  ],
  [
    'that of the endpoint',
    mutual({}, { auto_host_sni: true, ...validated }),
    'dns',
    accept,
    'server.test',
  ],
  [
    'that of the endpoint, of another server',
    mutual({}, { auto_host_sni: true, ...validated }),
    'dns',
    reject,
    'other.test',
  ],
  [
    'that of the endpoint before sni',
    mutual({}, { auto_host_sni: true, sni: 'other.test', ...validated }),
    'dns',
    accept,
    'server.test',
  ],
  [
    'sni where the endpoint has none',
    mutual({}, { auto_host_sni: true, sni: 'other.test', ...validated }),
    'dns',
    reject,
  ],
].map(([text, tls, server, expected, hostname]) => ({
  title: `server name: ${text}`,
  tls,
  server,
  expected,
  hostname,
}));

const bundled = roots('bundles');
const bundles = [
  ['an identity of its own domain', bundled, 'spiffe', accept],
  ['an identity of another domain, of its own authority', bundled, 'other-domain', accept],
  ['an identity signed by another domain', bundled, 'other-root', reject],
  ['an unknown domain', bundled, 'unknown-domain', reject],
  ['two identities', bundled, 'several-uris', reject],
  ['no identity', bundled, 'dns', reject],
  ['a URI that is no SPIFFE ID', bundled, 'odd-uri', reject],
  ['a SPIFFE ID without a path', bundled, 'path-less-id', accept],
  ['a trust domain in capitals', bundled, 'upper-case-id', reject],
  ['an intermediate authority', bundled, 'intermediate', accept],
  [
    'a matcher that is not satisfied',
    roots('bundles', { match_subject_alt_names: [{ exact: 'x' }] }),
    'spiffe',
    reject,
  ],
  ['no domains', roots('no-bundles'), 'spiffe', reject],
].map(([text, tls, server, expected]) => ({ title: `SPIFFE: ${text}`, tls, server, expected }));

/** Servers that are not as the others: TLS 1.2, no TLS, clients without a certificate. */
const modes = [
  { title: 'TLS 1.2', tls: mutual(), server: 'spiffe', mode: 'tls-1.2', expected: accept },
  {
    title: 'TLS 1.2, no identity',
    tls: identity(undefined),
    server: 'spiffe',
    mode: 'tls-1.2',
    expected: reject,
  },
  {
    title: 'TLS 1.2, a matcher that is not satisfied',
    tls: names({ exact: 'x' }),
    server: 'spiffe',
    mode: 'tls-1.2',
    expected: reject,
  },
  {
    title: 'no identity, none required',
    tls: identity(undefined),
    server: 'spiffe',
    mode: 'tls',
    expected: accept,
  },
  {
    title: 'an identity, none required',
    tls: mutual(),
    server: 'spiffe',
    mode: 'tls',
    expected: accept,
  },
  {
    title: 'TLS to a server without',
    tls: mutual(),
    server: 'spiffe',
    mode: 'plain',
    expected: reject,
  },
  {
    title: 'no TLS to a server without',
    tls: undefined,
    server: 'spiffe',
    mode: 'plain',
    expected: accept,
  },
  { title: 'no TLS to a server with', tls: undefined, server: 'spiffe', expected: reject },
].map((row) => ({ ...row, title: `mode: ${row.title}` }));

/**
 * Every configuration: the UpstreamTlsContext of a cluster, the certificate of its server, how the server is set up (`mode`,
 * by default one that requires a certificate of clients), the hostname of its endpoint, and what becomes of a call.
 */
export const configurations = [
  ...Object.entries(fields).map(([title, [tls, expected]]) => ({
    title: `fields: ${title}`,
    tls,
    server: 'spiffe',
    expected,
    // Only a client that waits for certificates that never come takes so long.
    ...(title === 'files that do not exist' && { timeoutMs: 3000 }),
  })),
  ...nameConfigurations,
  ...servers,
  ...serverNames,
  ...bundles,
  ...modes,
];
