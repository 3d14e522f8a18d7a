import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { SanMatcher } from '../../resources/tls/tls';
import { readCertificateNames, type CertificateNames } from '../../security/peer/certificate-names';
import { checkPath } from '../../security/peer/certificate-path';
import { SanMatchers } from '../../security/peer/san-matcher';
import { describeMissingBundle, readTrustDomain } from '../../security/peer/spiffe-id';
import { describeNames } from '../../security/peer/subject-alt-names';
import {
  createPeerIdentity,
  peerCertificateOf,
  type PeerIdentity,
} from '../../security/peer/tls-connections';
import type { TrustedRoots } from '../../security/providers/certificate-provider';
import { MAX_CHAIN_LENGTH } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';

/** How the clients of a server are verified. */
export interface ClientVerification {
  /** The authorities in use; `undefined` if no certificate is requested. The TLS context may have earlier ones. */
  readonly roots: TrustedRoots | 'system' | undefined;
  /** Whether the TLS context had authorities of no other trust domain than the one of `roots`. */
  readonly hadNoOthers: boolean;
  readonly requireClientCertificate: boolean;
  /** One of these must match a name of the certificate, if there is one; with none of them every name does. */
  readonly sanMatchers: readonly SanMatcher[];
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Why a handshake is refused. */
export interface HandshakeFailure {
  /** A code of Node.js or OpenSSL, or `ALPN`, `NO_CERTIFICATE`, `NAMES` or `TRUST_DOMAIN`. */
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
  const { roots, requireClientCertificate } = verification;
  if (socket.alpnProtocol !== 'h2') return failure('ALPN', describeFailure(NO_HTTP2));
  if (roots === undefined) return ok(undefined);
  const chainError = chainErrorOf(socket);
  // Before the certificate is read, which takes 6 ms of the event loop for one of 10,000 names.
  if (chainError !== undefined && !MAY_HAVE_NONE.has(chainError)) {
    return failure(chainError, describeChainError(chainError));
  }
  const certificate = peerCertificateOf(socket);
  // Node.js gives an empty object for a peer without a certificate.
  if (certificate.raw === undefined) {
    if (!requireClientCertificate) return ok(undefined);
    return failure('NO_CERTIFICATE', describeFailure(NO_CERTIFICATE));
  }
  if (chainError !== undefined) {
    return failure(chainError, describeChainError(chainError));
  }
  const names = readCertificateNames(certificate.raw);
  if (!names.ok) return failure('NAMES', names.error);
  return (
    checkTrustDomain(socket, names.value, verification) ??
    checkNames(names.value, verification) ??
    ok(createPeerIdentity(names.value, certificate.raw))
  );
}

function failure(cause: string, text: string): Result<never, HandshakeFailure> {
  return err({ cause, text });
}

/**
 * Returns the code of what is wrong with the chain. A server of Node.js that does not refuse such a chain by itself says it only
 * later; the method by which it looks is not public.
 */
function chainErrorOf(socket: TLSSocket): string | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!hasVerifyError(handle)) return 'NOT_VERIFIED';
  const error = handle.verifyError() ?? undefined;
  if (error === undefined) return undefined;
  const code: unknown = typeof error === 'object' ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'NOT_VERIFIED';
}

const COMPARE_ISSUER = 'compare its issuer with the authorities of this server';
const NOT_SIGNED: Cause = [
  'is not signed by a trusted authority, or an intermediate certificate is missing',
  COMPARE_ISSUER,
];

/** The codes that a client without a certificate has, too. */
const MAY_HAVE_NONE: ReadonlySet<string> = new Set(['UNABLE_TO_GET_ISSUER_CERT', 'NOT_VERIFIED']);

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

function describeChainError(code: string): string {
  const cause = CHAIN_ERRORS.get(code) ?? ['is not valid'];
  return `the certificate of the client ${describeFailure(cause, code)}`;
}

function hasVerifyError(handle: unknown): handle is { verifyError(): unknown } {
  if (typeof handle !== 'object' || handle === null || !('verifyError' in handle)) return false;
  return typeof handle.verifyError === 'function';
}

/**
 * Checks that the authorities of the trust domain of the client signed its certificate (gRFC A87). OpenSSL has all authorities
 * before it sees a certificate, and a server cannot begin again with those of one trust domain, as a client does.
 */
function checkTrustDomain(
  socket: TLSSocket,
  names: CertificateNames,
  { roots, hadNoOthers, nowMs }: ClientVerification,
): Result<never, HandshakeFailure> | undefined {
  const bundles = typeof roots === 'object' ? roots.bundles : undefined;
  if (bundles === undefined) return undefined;
  const trustDomain = readTrustDomain(names.subjectAltNames);
  if (!trustDomain.ok) return failure('TRUST_DOMAIN', trustDomain.error);
  const bundle = bundles.get(trustDomain.value);
  if (bundle === undefined)
    return failure('TRUST_DOMAIN', describeMissingBundle(trustDomain.value));
  const problem = hadNoOthers ? undefined : checkPath(chainOf(socket), bundle, nowMs);
  if (problem === undefined) return undefined;
  return failure('TRUST_DOMAIN', `trust domain "${trustDomain.value}": ${problem}`);
}

/** Returns the chain that the client presented, as far as one certificate is signed by the next. */
function chainOf(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (certificate !== undefined && chain.length < MAX_CHAIN_LENGTH) {
    chain.push(new X509Certificate(certificate.raw));
    // A certificate that is signed by itself is its own issuer; the last one of an incomplete chain has none.
    const issuer: DetailedPeerCertificate | undefined = certificate.issuerCertificate;
    certificate = issuer === certificate ? undefined : issuer;
  }
  return chain;
}

function checkNames(
  { subjectAltNames }: CertificateNames,
  { sanMatchers }: ClientVerification,
): Result<never, HandshakeFailure> | undefined {
  if (sanMatchers.length === 0) return undefined;
  const match = SanMatchers.of(sanMatchers).match(subjectAltNames);
  const problem = match.ok
    ? 'satisfy none of the matchers of the listener: compare them with match_subject_alt_names'
    : match.error;
  if (match.ok && match.value) return undefined;
  return failure('NAMES', `${describeNames(subjectAltNames)}: ${problem}`);
}
