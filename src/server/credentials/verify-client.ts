import type { TLSSocket } from 'node:tls';
import type { DownstreamTls } from '../../resources/tls/tls';
import { readCertificateNames, type CertificateNames } from '../../security/peer/certificate-names';
import { chainErrorOf, NOT_VERIFIED } from '../../security/peer/chain-error';
import { chainOf, checkPath } from '../../security/peer/certificate-path';
import { SanMatchers } from '../../security/peer/san-matcher';
import { describeMissingBundle, readTrustDomain } from '../../security/peer/spiffe-id';
import { describeNames } from '../../security/peer/subject-alt-names';
import {
  createPeerIdentity,
  peerCertificateOf,
  type PeerIdentity,
} from '../../security/peer/tls-connections';
import type { TrustedRoots } from '../../security/providers/certificate-provider';
import { err, ok, type Result } from '../../util/result';

/** How the clients of a server are verified. */
export interface ClientVerification {
  /** The authorities in use; `undefined` if no certificate is requested. The TLS context may have earlier ones. */
  readonly roots: TrustedRoots | 'system' | undefined;
  /** Whether the TLS context had authorities of no other trust domain than the one of `roots`. */
  readonly hadNoOthers: boolean;
  /** What the filter chain demands: one of its matchers must match a name of the certificate; without any every name does. */
  readonly tls: DownstreamTls;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Why a handshake is refused. */
export interface HandshakeFailure {
  /** A code of Node.js or OpenSSL, or `ALPN`, `NO_CERTIFICATE`, `NAMES`, `TRUST_DOMAIN` or `REVOKED`. */
  readonly cause: string;
  /** For the log. Never key material. */
  readonly text: string;
}

/** What is wrong with a handshake, and what an operator does then, if it is known. */
export type Cause = readonly [fact: string, nextStep?: string];

/** Returns the text of a cause. @param code Of Node.js or OpenSSL. */
export function describeFailure([fact, nextStep]: Cause, code?: string): string {
  const coded = code === undefined ? fact : `${fact} (${code})`;
  return nextStep === undefined ? coded : `${coded}: ${nextStep}`;
}

/** A client that does not speak HTTP/2. */
export const NO_HTTP2: Cause = ['the client did not offer "h2" by ALPN', 'use a client of gRPC'];
const NO_CERTIFICATE: Cause = [
  'the client presented no certificate',
  'give it an identity, which this server requires',
];

/**
 * Verifies the client of a connection when the handshake is complete, in which the chain was verified, whatever the result. The
 * connection must not be used before that, and not at all if this refuses it.
 *
 * @returns the identity of the client, `undefined` if it presented no certificate and need not.
 */
export function verifyClient(
  socket: TLSSocket,
  verification: ClientVerification,
): Result<PeerIdentity | undefined, HandshakeFailure> {
  const { roots, tls } = verification;
  if (socket.alpnProtocol !== 'h2') return failure('ALPN', describeFailure(NO_HTTP2));
  if (roots === undefined) return ok(undefined);
  const chainError = chainErrorOf(socket);
  // Before the certificate is read, which takes 6 ms of the event loop for one of 10,000 names.
  if (chainError !== undefined && !MAY_HAVE_NONE.has(chainError)) return chainFailure(chainError);
  const certificate = peerCertificateOf(socket);
  // Node.js gives an empty object for a peer without a certificate.
  if (certificate.raw === undefined) {
    if (!tls.requireClientCertificate) return ok(undefined);
    return failure('NO_CERTIFICATE', describeFailure(NO_CERTIFICATE));
  }
  if (chainError !== undefined) return chainFailure(chainError);
  const names = readCertificateNames(certificate.raw);
  if (!names.ok) return failure('NAMES', names.error);
  return (
    checkAuthorities(socket, names.value, verification) ??
    checkNames(names.value, verification) ??
    ok(createPeerIdentity(names.value, certificate.raw))
  );
}

function failure(cause: string, text: string): Result<never, HandshakeFailure> {
  return err({ cause, text });
}

const COMPARE_ISSUER = 'compare its issuer with the authorities of this server';
const NOT_SIGNED: Cause = [
  'is not signed by a trusted authority, or an intermediate certificate is missing',
  COMPARE_ISSUER,
];

/** The codes that a client without a certificate has, too. */
const MAY_HAVE_NONE: ReadonlySet<string> = new Set(['UNABLE_TO_GET_ISSUER_CERT', NOT_VERIFIED]);

/** What is wrong with the certificate of a client, by the code of OpenSSL. */
const CHAIN_ERRORS: ReadonlyMap<string, Cause> = new Map([
  [
    'CERT_HAS_EXPIRED',
    ['has expired, or that of its issuer has', 'renew it, and check the clocks of both hosts'],
  ],
  [
    'CERT_NOT_YET_VALID',
    ['is not valid yet, or that of its issuer is not', 'check the clocks of both hosts'],
  ],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', NOT_SIGNED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', NOT_SIGNED],
  [
    'UNABLE_TO_GET_ISSUER_CERT',
    [
      'leads to no trusted authority that is signed by itself, as Node.js requires of those of servers',
      'add the root above',
    ],
  ],
  ['SELF_SIGNED_CERT_IN_CHAIN', ['is signed by an authority that is not trusted', COMPARE_ISSUER]],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', ['is signed by itself and not trusted', COMPARE_ISSUER]],
  ['INVALID_PURPOSE', ['is not for clients', 'issue one whose extended key usage has clientAuth']],
]);

function chainFailure(code: string): Result<never, HandshakeFailure> {
  const cause = CHAIN_ERRORS.get(code) ?? ['is not valid'];
  return failure(code, `the certificate of the client ${describeFailure(cause, code)}`);
}

/** Checks what OpenSSL does not: the trust domain of the client, and that neither it nor its authorities are revoked. */
function checkAuthorities(
  socket: TLSSocket,
  names: CertificateNames,
  verification: ClientVerification,
): Result<never, HandshakeFailure> | undefined {
  const { roots } = verification;
  if (typeof roots !== 'object') return undefined;
  const { certificates, bundles, revocation } = roots;
  const authorities =
    bundles === undefined
      ? ok(certificates)
      : checkTrustDomain(socket, names, bundles, verification);
  if (!authorities.ok) return authorities;
  const problem = revocation?.check(socket.getPeerCertificate(true), authorities.value);
  return problem === undefined ? undefined : failure('REVOKED', problem);
}

/**
 * Checks that the authorities of the trust domain of the client signed its certificate (gRFC A87). OpenSSL has all authorities
 * before it sees a certificate, and a server cannot begin again with those of one trust domain, as a client does.
 *
 * @returns these authorities.
 */
function checkTrustDomain(
  socket: TLSSocket,
  names: CertificateNames,
  bundles: ReadonlyMap<string, readonly string[]>,
  { hadNoOthers, nowMs }: ClientVerification,
): Result<readonly string[], HandshakeFailure> {
  const trustDomain = readTrustDomain(names.subjectAltNames);
  if (!trustDomain.ok) return failure('TRUST_DOMAIN', trustDomain.error);
  const bundle = bundles.get(trustDomain.value);
  if (bundle === undefined)
    return failure('TRUST_DOMAIN', describeMissingBundle(trustDomain.value));
  const chain = () => chainOf(socket.getPeerCertificate(true));
  const problem = hadNoOthers ? undefined : checkPath(chain(), bundle, nowMs);
  if (problem === undefined) return ok(bundle);
  return failure('TRUST_DOMAIN', `trust domain "${trustDomain.value}": ${problem}`);
}

function checkNames(
  { subjectAltNames }: CertificateNames,
  { tls }: ClientVerification,
): Result<never, HandshakeFailure> | undefined {
  const { sanMatchers = [] } = tls.clientValidation ?? {};
  if (sanMatchers.length === 0) return undefined;
  const match = SanMatchers.of(sanMatchers).match(subjectAltNames);
  const problem = match.ok
    ? 'satisfy none of the matchers of the listener: compare them with match_subject_alt_names'
    : match.error;
  if (match.ok && match.value) return undefined;
  return failure('NAMES', `${describeNames(subjectAltNames)}: ${problem}`);
}
