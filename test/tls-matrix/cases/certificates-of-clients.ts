// The files of provider instances, and certificates that servers demand.

import { fails, NOT_TRUSTED, overTls, tls } from '../contexts';
import type { Expectation, TlsCase, TlsVersion } from '../tls-case';

const good = overTls();
const versions: readonly TlsVersion[] = ['TLSv1.2', 'TLSv1.3'];
const REFUSED =
  /server (?:requires a client certificate|refused it|closed the connection|does not accept)|disconnected before|ECONNRESET|socket hang up/;

/** By instance: what becomes of calls to a server that demands a certificate of `root`. */
const demanded: Readonly<Record<string, Expectation>> = {
  none: fails(REFUSED),
  root: overTls({ client: 'client' }),
  'rsa-client': overTls({ client: 'rsa-client' }),
  'ed25519-client': overTls({ client: 'ed25519-client' }),
  'client-of-intermediate': overTls({ client: 'client-of-intermediate' }),
  'client-of-other-root': fails(REFUSED),
  'expired-client': fails(REFUSED),
  'client-for-servers': fails(REFUSED),
};

/** By instance: identities that cannot be used, whatever the server demands. */
const unusable: Readonly<Record<string, string | RegExp>> = {
  'key of another': /mismatch/i,
  'key of another kind': 'the private key is not that of the certificate',
  'key without certificate': 'ENOENT',
  'certificate without key': 'ENOENT',
  'certificate as key': 'no private key in PEM found',
};

/** By instance: authorities that cannot be used. */
const unusableRoots: Readonly<Record<string, string | RegExp>> = {
  'empty file': 'no certificate in PEM found',
  'no PEM': 'no certificate in PEM found',
  'half a certificate': 'a PEM block has no end',
  'second block damaged': 'certificate 2',
  'a private key': 'no certificate in PEM found',
  'no file': 'ENOENT',
  'a directory': 'a directory, not a regular file',
  'rsa-client': /no authorities|ca_certificate_file|roots/,
};

const identityOf = (name: string) => (name === 'none' ? {} : { identity: name });

export const clientCertificateCases: readonly TlsCase[] = [
  ...versions.flatMap((version) =>
    Object.entries(demanded).map(([name, expected]) => ({
      group: 'client certificate: demanded',
      name: `${name}, ${version}`,
      tls: tls(identityOf(name)),
      server: { demandsCertificate: true, versions: [version, version] as const },
      expected,
    })),
  ),
  {
    group: 'client certificate: demanded',
    name: 'good, of a server that is not',
    tls: tls({ identity: 'root' }),
    server: { demandsCertificate: true, certificate: 'of-other-root' },
    expected: fails(NOT_TRUSTED),
  },
  ...['none', 'root', 'client-of-other-root', 'expired-client'].map((name) => ({
    group: 'client certificate: not demanded',
    name,
    tls: tls(identityOf(name)),
    expected: overTls({ client: null }),
  })),
  ...Object.entries(unusable).map(([identity, text]) => ({
    group: 'client certificate: unusable',
    name: identity,
    tls: tls({ identity }),
    expected: fails(text),
  })),
  ...Object.entries(unusableRoots).map(([roots, text]) => ({
    group: 'roots: unusable',
    name: roots,
    tls: tls({ roots }),
    expected: fails(text),
  })),
  ...['empty file', 'no PEM', 'no file'].map((roots) => ({
    group: 'roots: unusable',
    name: `${roots}, of a server of a root of the system`,
    tls: tls({ roots }),
    server: { certificate: 'of-system-root' },
    expected: fails(/no certificate|ENOENT/),
  })),
  ...systemRoots(),
];

/** gRFC A82. The runner has the system root in NODE_EXTRA_CA_CERTS. */
function systemRoots(): readonly TlsCase[] {
  const system = (validation = {}) => ({
    common_tls_context: { validation_context: { system_root_certs: {}, ...validation } },
  });
  const matcher = (exact: string) => ({ match_subject_alt_names: [{ exact }] });
  const server = { certificate: 'of-system-root' };
  const rows: readonly Omit<TlsCase, 'group'>[] = [
    { name: 'a server of theirs', tls: system(), server, expected: good },
    {
      name: 'another server',
      tls: system(),
      expected: fails(NOT_TRUSTED),
    },
    {
      name: 'a matcher that is satisfied',
      tls: system(matcher('server.test')),
      server,
      expected: good,
    },
    {
      name: 'a matcher that is not',
      tls: system(matcher('x')),
      server,
      expected: fails('do not satisfy'),
    },
    {
      name: 'beside an instance, which counts',
      tls: tls({ validation: { system_root_certs: {} } }),
      expected: good,
    },
    {
      name: 'beside an instance, which counts, of a server of theirs',
      tls: tls({ validation: { system_root_certs: {} } }),
      server,
      expected: fails(NOT_TRUSTED),
    },
    {
      name: 'with an identity',
      tls: {
        common_tls_context: {
          tls_certificate_provider_instance: { instance_name: 'root' },
          validation_context: { system_root_certs: {} },
        },
      },
      server: { certificate: 'of-system-root', demandsCertificate: true },
      expected: overTls({ client: 'client' }),
    },
  ];
  return rows.map((row) => ({ group: 'roots: of the system', ...row }));
}
