// The chain of the server: who signed it, when it is valid, what it is for.

import { SERVER_ID } from '../certificate-table';
import { EXPIRED, fails, matching, NOT_TRUSTED, NOT_YET_VALID, overTls, tls } from '../contexts';
import type { Expectation, TlsCase } from '../tls-case';

const good = overTls();
const NO_AUTHORITY = /INVALID_CA|invalid CA|certificate signing/;
const PURPOSE = 'is not for servers (INVALID_PURPOSE)';

/** Servers under `root`, by what their certificate is. */
const byCertificate: Readonly<Record<string, readonly [name: string, expected: Expectation]>> = {
  good: ['signed by the root', good],
  'of-intermediate': ['signed by an intermediate', good],
  'of-second-intermediate': ['signed below two intermediates', good],
  'of-usage-less-authority': ['signed by an authority without key usage', good],
  'of-last-authority': ['directly below an authority of path length 0', good],
  'of-below-one-more-authority': ['two below an authority of path length 1', good],
  'of-server-authority': ['signed by an authority for servers', good],
  'authority-as-leaf': ['which is an authority itself', good],
  'usage-server': ['for servers', good],
  'usage-both': ['for servers and clients', good],
  'key-usage-none': ['without key usage', good],
  'inside-dns-authority': ['of a DNS name that its authority is permitted', good],
  'not-excluded-dns': ['of a DNS name that its authority is not denied', good],
  'inside-uri-authority': ['of a SPIFFE ID that its authority is permitted', good],
  'inside-email-authority': ['of a mail address that its authority is permitted', good],
  'inside-ip-authority': ['of an address that its authority is permitted', good],
  expired: ['expired', fails(EXPIRED)],
  'not-yet-valid': ['not valid yet', fails(NOT_YET_VALID)],
  'of-expired-intermediate': ['signed by an expired intermediate', fails(EXPIRED)],
  'of-future-intermediate': ['signed by an intermediate of the future', fails(NOT_YET_VALID)],
  'of-other-root': ['signed by another root', fails(NOT_TRUSTED)],
  'of-namesake-root': ['signed by another root of the same name', fails(/signature|trusted/)],
  'of-system-root': ['signed by a root of the system', fails(NOT_TRUSTED)],
  'self-signed': ['signed by itself', fails('is signed by itself and not trusted')],
  'self-signed-authority': ['an authority signed by itself', fails('is signed by itself')],
  'of-no-authority': ['signed by a certificate that is no authority', fails(NO_AUTHORITY)],
  'of-no-signer': ['signed by an authority that may not sign', fails(NO_AUTHORITY)],
  'of-beyond-last-authority': ['beyond the path length', fails('path length constraint exceeded')],
  'of-client-authority': ['signed by an authority for clients', fails(/INVALID_(?:CA|PURPOSE)/)],
  'usage-client': ['for clients', fails(PURPOSE)],
  'usage-any': ['for any usage', fails(PURPOSE)],
  'usage-code-signing': ['for signing code', fails(PURPOSE)],
  'usage-unknown': ['for an unknown usage', fails(PURPOSE)],
  'key-usage-signing-certificates': ['whose key is for certificates', fails(PURPOSE)],
  'outside-dns-authority': [
    'of a DNS name that its authority is not permitted',
    fails('permitted'),
  ],
  'partly-outside-dns-authority': ['of two DNS names, one not permitted', fails('permitted')],
  'excluded-dns': ['of a DNS name that its authority is denied', fails('excluded')],
  'outside-uri-authority': [
    'of a SPIFFE ID that its authority is not permitted',
    fails('permitted'),
  ],
  'excluded-uri': ['of a SPIFFE ID that its authority is denied', fails('excluded')],
  'outside-email-authority': ['of a mail address not permitted', fails('permitted')],
  'outside-ip-authority': ['of an address not permitted', fails('permitted')],
};

type ChainRow = readonly [
  name: string,
  roots: string,
  chain: readonly string[],
  expected: Expectation,
];

/** What servers present, under several roots. */
const presented: readonly ChainRow[] = [
  ['a missing intermediate', 'root', ['of-intermediate'], fails(NOT_TRUSTED)],
  [
    'a missing lower intermediate',
    'root',
    ['of-second-intermediate', 'intermediate'],
    fails(NOT_TRUSTED),
  ],
  [
    'a missing upper intermediate',
    'root',
    ['of-second-intermediate', 'second-intermediate'],
    fails(NOT_TRUSTED),
  ],
  [
    'intermediates in the wrong order',
    'root',
    ['of-second-intermediate', 'intermediate', 'second-intermediate'],
    good,
  ],
  ['an unrelated certificate besides', 'root', ['good', 'expired-intermediate'], good],
  ['the root as well', 'root', ['of-intermediate', 'intermediate', 'root'], good],
  ['the leaf twice', 'root', ['good', 'good'], good],
  [
    'an intermediate that is trusted, beside its root',
    'root and intermediate',
    ['of-intermediate'],
    good,
  ],
  ['an intermediate as the only anchor', 'intermediate', ['of-intermediate'], good],
  [
    'an intermediate as the only anchor, presented as well',
    'intermediate',
    ['of-intermediate', 'intermediate'],
    good,
  ],
  [
    'another intermediate as the only anchor',
    'second-intermediate',
    ['of-intermediate', 'intermediate'],
    fails(NOT_TRUSTED),
  ],
  [
    'the lower of two intermediates as the only anchor',
    'second-intermediate',
    ['of-second-intermediate'],
    good,
  ],
  ['the certificate itself as the only anchor', 'good', ['good'], good],
  ['another certificate as the only anchor', 'good', ['usage-server'], fails(NOT_TRUSTED)],
  ['itself as the only anchor, expired', 'expired', ['expired'], fails(EXPIRED)],
  ['itself as the only anchor, signed by itself', 'self-signed', ['self-signed'], good],
  [
    'itself as the only anchor, an authority signed by itself',
    'self-signed-authority',
    ['self-signed-authority'],
    good,
  ],
  ['a root that has expired', 'expired-root', ['of-expired-root'], fails(EXPIRED)],
  ['a root of the future', 'future-root', ['of-future-root'], fails(NOT_YET_VALID)],
  ['a good root beside one that has expired', 'expired and good root', ['good'], good],
  ['the last of several roots', 'several roots', ['good'], good],
  ['another of several roots', 'several roots', ['of-other-root'], good],
  ['none of several roots', 'several roots', ['of-system-root'], fails(NOT_TRUSTED)],
  ['a root that is there twice', 'twice the same root', ['good'], good],
  ['cross-signed, by the trusted root', 'root', ['of-bridge', 'bridge'], good],
  ['cross-signed, by another root', 'root', ['of-bridge', 'bridge-of-other'], fails(NOT_TRUSTED)],
  [
    'cross-signed, both presented, the trusted one last',
    'root',
    ['of-bridge', 'bridge-of-other', 'bridge'],
    // OpenSSL takes the first issuer that is presented, and looks for another one among the trusted ones only.
    fails(NOT_TRUSTED),
  ],
  [
    'cross-signed, both presented, the trusted one first',
    'root',
    ['of-bridge', 'bridge', 'bridge-of-other'],
    good,
  ],
  ['cross-signed, the other root trusted', 'other-root', ['of-bridge', 'bridge-of-other'], good],
  [
    'a root that another one signed, which is trusted',
    'other-root',
    ['good', 'root-of-other'],
    good,
  ],
  ['a root that another one signed, itself trusted', 'root', ['good', 'root-of-other'], good],
  [
    'a constrained root, a name outside',
    'constrained-root',
    ['outside-constrained-root'],
    fails('permitted'),
  ],
  ['a constrained root, a name inside', 'constrained-root', ['inside-constrained-root'], good],
];

const named = matching({ exact: SERVER_ID });

/** A good name makes up for nothing. */
const badWithName = ['expired', 'not-yet-valid', 'of-other-root', 'self-signed', 'usage-client'];

export const chainCases: readonly TlsCase[] = [
  ...Object.entries(byCertificate).map(([certificate, [name, expected]]) => ({
    group: 'chain: certificate',
    name,
    tls: tls(),
    server: { certificate },
    expected,
  })),
  ...presented.map(([name, roots, chain, expected]) => ({
    group: 'chain: anchors',
    name,
    tls: tls({ roots }),
    server: { chain },
    expected,
  })),
  ...badWithName.map((certificate) => ({
    group: 'chain: certificate',
    name: `${certificate}, with a name that matches`,
    tls: named,
    server: { certificate },
    expected: fails('TLS handshake failed'),
  })),
];
