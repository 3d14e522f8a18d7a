import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, PeerCertificate } from 'node:tls';
import type { SanMatcher, UpstreamTls } from '../resources/cluster/cluster';
import { sanitizeText } from '../util/sanitize-text';
import type { TrustedRoots } from './certificate-provider';
import { matchesDnsName, matchesSan } from './san-matcher';
import { trustDomainOf } from './spiffe-id';
import { parseSubjectAltNames, type SubjectAltName } from './subject-alt-names';

/** What the certificate of a server is checked against, besides the security configuration of the cluster. */
export interface PeerExpectations {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly roots: TrustedRoots | 'system';
  /** The server name that was sent; empty for none. */
  readonly serverName: string;
}

/** More certificates than any chain has. */
const MAX_CHAIN = 16;
const MAX_SHOWN_NAMES = 10;
const MAX_SHOWN_MATCHERS = 5;
/** Characters of a matcher that are shown. */
const MAX_SHOWN_LENGTH = 200;

/**
 * Checks the certificate of a server, whose chain was verified, in place of the check of the host name (gRFCs A29, A87,
 * A101).
 * @returns why it must not be used; `undefined` if it may.
 */
export function checkPeer(
  certificate: PeerCertificate,
  tls: UpstreamTls,
  expectations: PeerExpectations,
): Error | undefined {
  const names = parseSubjectAltNames(certificate.subjectaltname);
  const problem =
    checkTrustDomain(certificate, names, expectations) ??
    checkNames(names, tls, expectations.serverName);
  if (problem === undefined) return undefined;
  return Object.assign(new Error(`certificate check failure: ${problem}`), { code: 'SAN' });
}

function checkNames(
  names: readonly SubjectAltName[],
  { sanMatchers, autoSniSanValidation }: UpstreamTls,
  serverName: string,
): string | undefined {
  if (autoSniSanValidation && serverName !== '') {
    const isNamed = names.some(
      ({ type, value }) => type === 'dns' && matchesDnsName(value, serverName),
    );
    if (isNamed) return undefined;
    return `${describeNames(names)} do not include the server name "${serverName}"`;
  }
  if (sanMatchers.length === 0) return undefined;
  if (names.some((name) => matchesSan(name, sanMatchers))) return undefined;
  const matchers =
    sanMatchers.length === 1 ? 'the matcher' : `any of the ${sanMatchers.length} matchers`;
  return `${describeNames(names)} do not satisfy ${matchers} of the cluster [${describeMatchers(sanMatchers)}]`;
}

function describeMatchers(matchers: readonly SanMatcher[]): string {
  const shown = matchers.slice(0, MAX_SHOWN_MATCHERS).map(describeMatcher).join(', ');
  const more = matchers.length - MAX_SHOWN_MATCHERS;
  return more > 0 ? `${shown}, and ${more} more` : shown;
}

function describeMatcher({ type, matcher }: SanMatcher): string {
  const text = matcher.kind === 'regex' ? matcher.regex.pattern : matcher.text;
  const kind = type === 'any' ? matcher.kind : `${type} ${matcher.kind}`;
  const inAnyCase = matcher.kind !== 'regex' && matcher.ignoreCase ? ' in any case' : '';
  return `${kind} "${sanitizeText(text, MAX_SHOWN_LENGTH)}"${inAnyCase}`;
}

function describeNames(names: readonly SubjectAltName[]): string {
  if (names.length === 0) return 'the subject alternative names [] of the certificate';
  const shown = names
    .slice(0, MAX_SHOWN_NAMES)
    .map(({ type, value }) => `${type}:${sanitizeText(value, MAX_SHOWN_LENGTH)}`);
  const more = names.length > shown.length ? `, and ${names.length - shown.length} more` : '';
  return `the subject alternative names [${shown.join(', ')}${more}] of the certificate`;
}

/** A trust domain vouches only for its own identities, although the chain was verified with the roots of all (gRFC A87). */
function checkTrustDomain(
  certificate: PeerCertificate,
  names: readonly SubjectAltName[],
  { roots, nowMs }: PeerExpectations,
): string | undefined {
  if (roots === 'system' || roots.bundles === undefined) return undefined;
  const uris = names.filter(({ type }) => type === 'uri');
  const [uri] = uris;
  const trustDomain = uris.length === 1 && uri !== undefined ? trustDomainOf(uri.value) : undefined;
  if (trustDomain === undefined) {
    return `${describeNames(names)} are not one SPIFFE ID, which the trust bundles are for`;
  }
  const bundle = roots.bundles.get(trustDomain);
  if (bundle === undefined) return `there is no trust bundle for the trust domain "${trustDomain}"`;
  if (isSignedBy(certificate, bundle, nowMs)) return undefined;
  return `the certificate is not signed by the trust bundle of the trust domain "${trustDomain}"`;
}

/** Whether the presented chain leads to one of the roots, each certificate signed by the next. */
function isSignedBy(leaf: PeerCertificate, roots: readonly string[], nowMs: number): boolean {
  const anchors = roots.map((root) => new X509Certificate(root));
  let current = new X509Certificate(leaf.raw);
  let presented: PeerCertificate | undefined = issuerOf(leaf);
  for (let depth = 0; depth < MAX_CHAIN; depth++) {
    const subject = current;
    if (anchors.some((anchor) => isIssuer(anchor, subject, nowMs))) return true;
    if (presented === undefined) return false;
    const issuer = new X509Certificate(presented.raw);
    if (!isIssuer(issuer, subject, nowMs)) return false;
    current = issuer;
    presented = issuerOf(presented);
  }
  return false;
}

function issuerOf(certificate: PeerCertificate): PeerCertificate | undefined {
  // A root is its own issuer.
  if (!isDetailed(certificate) || certificate.issuerCertificate === certificate) return undefined;
  return certificate.issuerCertificate;
}

function isDetailed(certificate: PeerCertificate): certificate is DetailedPeerCertificate {
  return 'issuerCertificate' in certificate && certificate.issuerCertificate !== undefined;
}

function isIssuer(issuer: X509Certificate, subject: X509Certificate, nowMs: number): boolean {
  const isValid = Date.parse(issuer.validFrom) <= nowMs && nowMs <= Date.parse(issuer.validTo);
  return isValid && issuer.ca && subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
}
