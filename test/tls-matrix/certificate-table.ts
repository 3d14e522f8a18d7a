import type { CertificateDescription } from './certificates';

/** Of the server whose certificate is in order. */
export const SERVER_ID = 'spiffe://td.test/ns/a/sa/server';

/** The names in certificates that are about something else. The wildcard is for the names of targets. */
const NAMES = [`URI:${SERVER_ID}`, 'DNS:server.test', 'DNS:*.matrix.test'];
const LONG_AGO = ['20150101000000Z', '20200101000000Z'] as const;
const LATER = ['20900101000000Z', '21200101000000Z'] as const;

const root = (extra: CertificateDescription = {}): CertificateDescription => ({
  isAuthority: true,
  ...extra,
});
const authority = (extra: CertificateDescription = {}): CertificateDescription => ({
  by: 'root',
  isAuthority: true,
  ...extra,
});
const leaf = (extra: CertificateDescription = {}): CertificateDescription => ({
  by: 'root',
  names: NAMES,
  ...extra,
});
/** A leaf below an authority, with the names of the good one. */
const below = (by: string): CertificateDescription => leaf({ by });

const authorities: Readonly<Record<string, CertificateDescription>> = {
  root: root(),
  'other-root': root(),
  'system-root': root(),
  'rsa-root': root({ key: 'rsa-2048' }),
  'ed25519-root': root({ key: 'ed25519' }),
  /** The name of `root`, and another key. */
  'namesake-root': root({ commonName: 'root' }),
  'expired-root': root({ validity: LONG_AGO }),
  'future-root': root({ validity: LATER }),
  'weak-root': root({ key: 'rsa-512' }),
  intermediate: authority(),
  'second-intermediate': authority({ by: 'intermediate' }),
  'expired-intermediate': authority({ validity: LONG_AGO }),
  'future-intermediate': authority({ validity: LATER }),
  'no-authority': { by: 'root', usage: 'digitalSignature' },
  'no-signer': authority({ usage: 'digitalSignature' }),
  'usage-less-authority': authority({ usage: '' }),
  'last-authority': authority({ pathLength: 0 }),
  'beyond-last-authority': authority({ by: 'last-authority' }),
  'one-more-authority': authority({ pathLength: 1 }),
  'below-one-more-authority': authority({ by: 'one-more-authority' }),
  'client-authority': authority({ extendedUsage: 'clientAuth' }),
  'server-authority': authority({ extendedUsage: 'serverAuth' }),
  'sha1-authority': authority({ digest: 'sha1' }),
  'dns-authority': authority({ extensions: 'nameConstraints=critical,permitted;DNS:inside.test' }),
  'dns-excluding-authority': authority({
    extensions: 'nameConstraints=critical,excluded;DNS:outside.test',
  }),
  'uri-authority': authority({ extensions: 'nameConstraints=critical,permitted;URI:td.test' }),
  'uri-excluding-authority': authority({
    extensions: 'nameConstraints=critical,excluded;URI:other.test',
  }),
  'email-authority': authority({
    extensions: 'nameConstraints=critical,permitted;email:inside.test',
  }),
  'ip-authority': authority({
    extensions: 'nameConstraints=critical,permitted;IP:10.0.0.0/255.0.0.0',
  }),
  /** One authority, signed by two roots. */
  bridge: authority({ commonName: 'bridge' }),
  'bridge-of-other': authority({ by: 'other-root', commonName: 'bridge', keyOf: 'bridge' }),
  /** `root`, signed by another one. */
  'root-of-other': authority({ by: 'other-root', commonName: 'root', keyOf: 'root' }),
  /** A root that is constrained, and its twin that is not. */
  'constrained-root': root({
    commonName: 'constrained',
    extensions: 'nameConstraints=critical,permitted;DNS:inside.test',
  }),
  'unconstrained-twin': root({ commonName: 'constrained', keyOf: 'constrained-root' }),
  'other-domain-intermediate': authority({ by: 'other-root' }),
};

/** Servers by how their chain is wrong, or right in an unusual way. */
const chains: Readonly<Record<string, CertificateDescription>> = {
  good: leaf(),
  'of-intermediate': below('intermediate'),
  'of-second-intermediate': below('second-intermediate'),
  'of-other-root': below('other-root'),
  'of-namesake-root': below('namesake-root'),
  'of-system-root': below('system-root'),
  'of-rsa-root': below('rsa-root'),
  'of-ed25519-root': below('ed25519-root'),
  'of-expired-root': below('expired-root'),
  'of-future-root': below('future-root'),
  'of-weak-root': leaf({ by: 'weak-root', digest: 'sha1' }),
  'of-expired-intermediate': below('expired-intermediate'),
  'of-future-intermediate': below('future-intermediate'),
  'of-no-authority': below('no-authority'),
  'of-no-signer': below('no-signer'),
  'of-usage-less-authority': below('usage-less-authority'),
  'of-last-authority': below('last-authority'),
  'of-beyond-last-authority': below('beyond-last-authority'),
  'of-below-one-more-authority': below('below-one-more-authority'),
  'of-client-authority': below('client-authority'),
  'of-server-authority': below('server-authority'),
  'of-sha1-authority': below('sha1-authority'),
  'of-bridge': below('bridge'),
  'self-signed': { names: NAMES },
  'self-signed-authority': {
    names: NAMES,
    isAuthority: true,
    usage: 'digitalSignature,keyCertSign',
  },
  'authority-as-leaf': leaf({ isAuthority: true, usage: 'digitalSignature,keyCertSign' }),
  expired: leaf({ validity: LONG_AGO }),
  'not-yet-valid': leaf({ validity: LATER }),
  'usage-server': leaf({ extendedUsage: 'serverAuth' }),
  'usage-client': leaf({ extendedUsage: 'clientAuth' }),
  'usage-both': leaf({ extendedUsage: 'serverAuth,clientAuth' }),
  'usage-any': leaf({ extendedUsage: 'anyExtendedKeyUsage' }),
  'usage-code-signing': leaf({ extendedUsage: 'codeSigning' }),
  'usage-unknown': leaf({ extendedUsage: '1.2.3.4' }),
  'key-usage-none': leaf({ usage: '' }),
  'key-usage-signing-certificates': leaf({ usage: 'keyCertSign' }),
  'inside-dns-authority': leaf({ by: 'dns-authority', names: ['DNS:a.inside.test'] }),
  'outside-dns-authority': leaf({ by: 'dns-authority', names: ['DNS:a.outside.test'] }),
  'partly-outside-dns-authority': leaf({
    by: 'dns-authority',
    names: ['DNS:a.inside.test', 'DNS:a.outside.test'],
  }),
  'not-excluded-dns': leaf({ by: 'dns-excluding-authority', names: ['DNS:a.inside.test'] }),
  'excluded-dns': leaf({ by: 'dns-excluding-authority', names: ['DNS:a.outside.test'] }),
  'inside-uri-authority': leaf({ by: 'uri-authority', names: ['URI:spiffe://td.test/a'] }),
  'outside-uri-authority': leaf({ by: 'uri-authority', names: ['URI:spiffe://other.test/a'] }),
  'excluded-uri': leaf({ by: 'uri-excluding-authority', names: ['URI:spiffe://other.test/a'] }),
  'inside-email-authority': leaf({ by: 'email-authority', names: ['email:a@inside.test'] }),
  'outside-email-authority': leaf({ by: 'email-authority', names: ['email:a@outside.test'] }),
  'inside-ip-authority': leaf({ by: 'ip-authority', names: ['IP:10.1.2.3'] }),
  'outside-ip-authority': leaf({ by: 'ip-authority', names: ['IP:192.0.2.1'] }),
  'outside-constrained-root': leaf({
    by: 'constrained-root',
    names: ['URI:spiffe://td.test/a', 'DNS:a.outside.test'],
  }),
  'inside-constrained-root': leaf({
    by: 'constrained-root',
    names: ['URI:spiffe://td.test/a', 'DNS:a.inside.test'],
  }),
};

/** Servers by their key and the digest of their signature. */
const keys: Readonly<Record<string, CertificateDescription>> = {
  'p384-key': leaf({ key: 'p384' }),
  'p521-key': leaf({ key: 'p521' }),
  'secp256k1-key': leaf({ key: 'secp256k1' }),
  'rsa-512-key': leaf({ key: 'rsa-512' }),
  'rsa-1024-key': leaf({ key: 'rsa-1024' }),
  'rsa-2048-key': leaf({ key: 'rsa-2048' }),
  'rsa-3072-key': leaf({ key: 'rsa-3072' }),
  'rsa-pss-key': leaf({ key: 'rsa-pss' }),
  'ed25519-key': leaf({ key: 'ed25519' }),
  'ed448-key': leaf({ key: 'ed448' }),
  'sha1-signature': leaf({ digest: 'sha1' }),
  'sha224-signature': leaf({ digest: 'sha224' }),
  'sha384-signature': leaf({ digest: 'sha384' }),
  'sha512-signature': leaf({ digest: 'sha512' }),
};

/** Servers whose SPIFFE id is of one domain, and whose authority is of one. `root` is that of td.test. */
const domains: Readonly<Record<string, CertificateDescription>> = {
  'other-domain': leaf({ by: 'other-root', names: ['URI:spiffe://other.test/a'] }),
  'td-by-other': leaf({ by: 'other-root', names: ['URI:spiffe://td.test/a'] }),
  'other-by-td': leaf({ by: 'root', names: ['URI:spiffe://other.test/a'] }),
  'td-by-other-intermediate': leaf({
    by: 'other-domain-intermediate',
    names: ['URI:spiffe://td.test/a'],
  }),
  'other-by-other-intermediate': leaf({
    by: 'other-domain-intermediate',
    names: ['URI:spiffe://other.test/a'],
  }),
  'td-by-bridge': leaf({ by: 'bridge', names: ['URI:spiffe://td.test/a'] }),
  'other-by-bridge': leaf({ by: 'bridge', names: ['URI:spiffe://other.test/a'] }),
  'td-by-intermediate': leaf({ by: 'intermediate', names: ['URI:spiffe://td.test/a'] }),
};

const clients: Readonly<Record<string, CertificateDescription>> = {
  client: { by: 'root', names: ['URI:spiffe://td.test/ns/a/sa/client'] },
  'second-client': { by: 'root' },
  'client-of-other-root': { by: 'other-root' },
  'client-of-intermediate': { by: 'intermediate' },
  'expired-client': { by: 'root', validity: LONG_AGO },
  'client-for-servers': { by: 'root', extendedUsage: 'serverAuth' },
  'rsa-client': { by: 'root', key: 'rsa-2048' },
  'ed25519-client': { by: 'root', key: 'ed25519' },
  'p384-client': { by: 'root', key: 'p384' },
};

/** Certificates by name. */
export const CERTIFICATES: Readonly<Record<string, CertificateDescription>> = {
  ...authorities,
  ...chains,
  ...keys,
  ...domains,
  ...clients,
};
