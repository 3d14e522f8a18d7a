import { isIP } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import type { SanMatcher, UpstreamTls } from '../../resources/tls/tls';
import { quoteText } from '../../util/cut-text';
import { err, ok, type Result } from '../../util/result';
import { sanitizeText } from '../../util/sanitize-text';
import { matchesDnsName, SanMatchers } from './san-matcher';
import { trustDomainOf } from './spiffe-id';
import { canonicalAddress, parseSubjectAltNames, type SubjectAltName } from './subject-alt-names';

/** What the certificate of a server is checked against, besides the security configuration of the cluster. */
export interface PeerExpectations {
  /** The name of the server; empty for none. */
  readonly serverName: string;
  /** The trust domain whose bundle verified the chain; `undefined` if the roots are not those of trust domains (gRFC A87). */
  readonly trustDomain?: string | undefined;
  /** Those that there are, by trust domain. */
  readonly bundles?: ReadonlyMap<string, unknown> | undefined;
}

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
  const problem = names.ok
    ? (checkTrustDomain(names.value, expectations) ??
      checkNames(names.value, tls, expectations.serverName))
    : names.error;
  if (problem === undefined) return undefined;
  return Object.assign(new Error(`certificate check failure: ${problem}`), { code: 'SAN' });
}

function checkNames(
  names: readonly SubjectAltName[],
  { sanMatchers, autoSniSanValidation }: UpstreamTls,
  serverName: string,
): string | undefined {
  // Of an address nothing is sent, so that the matchers apply; without any, it is all there is to compare.
  const isCompared = isIP(serverName) === 0 || sanMatchers.length === 0;
  if (autoSniSanValidation && serverName !== '' && isCompared) {
    if (names.some((name) => isNameOf(name, serverName))) return undefined;
    return `${describeNames(names)} do not include the server name ${quoteText(serverName)}`;
  }
  if (sanMatchers.length === 0) return undefined;
  const matchers =
    sanMatchers.length === 1 ? 'the matcher' : `any of the ${sanMatchers.length} matchers`;
  const match = SanMatchers.of(sanMatchers).match(names);
  if (!match.ok) {
    return `comparing the ${names.length} subject alternative names of the certificate with ${matchers} of the cluster ${match.error}`;
  }
  if (match.value) return undefined;
  return `${describeNames(names)} do not satisfy ${matchers} of the cluster [${describeMatchers(sanMatchers)}]`;
}

/** Whether a name of a certificate is that of the server: an address only as an address (RFC 2818). */
function isNameOf({ type, value }: SubjectAltName, serverName: string): boolean {
  if (isIP(serverName) === 0) return type === 'dns' && matchesDnsName(value, serverName);
  return type === 'ip' && value === canonicalAddress(serverName);
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

/** A trust domain vouches only for its own identities (gRFC A87). */
function checkTrustDomain(
  names: readonly SubjectAltName[],
  { trustDomain, bundles }: PeerExpectations,
): string | undefined {
  if (trustDomain === undefined) return undefined;
  const own = readTrustDomain(names);
  if (!own.ok) return own.error;
  if (own.value === trustDomain) return undefined;
  if (bundles?.has(own.value) !== true) return describeMissingBundle(own.value);
  return `the certificate is of the trust domain "${own.value}", and was verified by the trust bundle of "${trustDomain}"`;
}

/** Describes why no certificate of a trust domain is accepted. */
export function describeMissingBundle(trustDomain: string): string {
  return `there is no trust bundle for the trust domain "${trustDomain}"`;
}

/** Returns the trust domain of an identity, or why the names are not one SPIFFE ID (gRFC A87). */
export function readTrustDomain(names: readonly SubjectAltName[]): Result<string, string> {
  const uris = names.filter(({ type }) => type === 'uri');
  const [uri] = uris;
  const trustDomain = uris.length === 1 && uri !== undefined ? trustDomainOf(uri.value) : undefined;
  if (trustDomain !== undefined) return ok(trustDomain);
  return err(`${describeNames(names)} are not one SPIFFE ID, which the trust bundles are for`);
}
