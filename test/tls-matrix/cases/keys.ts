// The key of the server and the signatures of its chain.

import { versions } from 'node:process';
import { fails, overTls, tls } from '../contexts';
import type { Expectation, TlsCase } from '../tls-case';

const good = overTls();
/** From OpenSSL 3.2 on, clients want 112 bits of security, not 80 (SSL_CTX_set_security_level). */
const [major = 0, minor = 0] = versions.openssl.split('.').map(Number);
const isStrict = major > 3 || (major === 3 && minor >= 2);

/** OpenSSL refuses keys and digests below its security level. */
const WEAK = /too weak|too small|_TOO_|unsupported|handshake|signature|digest|md/i;

const byKey: Readonly<Record<string, Expectation>> = {
  'p384-key': good,
  'p521-key': good,
  'rsa-2048-key': good,
  'rsa-3072-key': good,
  'rsa-pss-key': good,
  'ed25519-key': good,
  'ed448-key': good,
  'sha224-signature': good,
  'sha384-signature': good,
  'sha512-signature': good,
  'rsa-1024-key': isStrict ? fails(WEAK) : good,
  'rsa-512-key': fails(WEAK),
  'secp256k1-key': fails(/handshake/i),
  'sha1-signature': fails(WEAK),
  'of-sha1-authority': fails(WEAK),
};

const byRoot: Readonly<Record<string, readonly [certificate: string, expected: Expectation]>> = {
  'rsa-root': ['of-rsa-root', good],
  'ed25519-root': ['of-ed25519-root', good],
  'weak-root': ['of-weak-root', fails(WEAK)],
};

const modern = ['p384-key', 'rsa-2048-key', 'rsa-pss-key', 'ed25519-key'];

export const keyCases: readonly TlsCase[] = [
  ...Object.entries(byKey).map(([certificate, expected]) => ({
    group: 'keys and signatures',
    name: certificate,
    tls: tls(),
    server: { certificate },
    expected,
  })),
  ...modern.map((certificate) => ({
    group: 'keys and signatures',
    name: `${certificate}, TLS 1.2`,
    tls: tls(),
    server: { certificate, versions: ['TLSv1.2', 'TLSv1.2'] as const },
    expected: overTls({ version: 'TLSv1.2' }),
  })),
  ...Object.entries(byRoot).map(([roots, [certificate, expected]]) => ({
    group: 'keys and signatures',
    name: `signed by ${roots}`,
    tls: tls({ roots }),
    server: { certificate },
    expected,
  })),
];
